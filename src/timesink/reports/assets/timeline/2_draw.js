// Drawing. Per row of a lane the bars are sorted and do not overlap, so what is visible is found
// by binary search, and bars thinner than a pixel are drawn as one.

function readTheme() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  theme = {
    bg: read("--bg"), panel: read("--panel"), text: read("--text"), dim: read("--dim"),
    rule: read("--rule"), hit: read("--hit"), focus: read("--focus"),
  };
  colours = data.classes.map((label) => {
    const fill = read("--c-" + label.toLowerCase().replace(/[^a-z0-9]/g, "-"));
    return { fill, ink: luminance(fill) > 0.3 ? "#000" : "#fff" };
  });
}

function luminance(hex) {
  const parts = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255);
  const linear = parts.map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

function redraw() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => {
    pending = false;
    draw();
  });
}

function resize() {
  const ratio = window.devicePixelRatio || 1;
  width = Math.max(60, canvas.parentElement.clientWidth);
  height = Math.min(TALL, RULER + total() + 4);
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  scrollTo(scroll);
}

function draw() {
  const ratio = window.devicePixelRatio || 1;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = theme.bg;
  context.fillRect(0, 0, width, height);
  context.font = FONT;
  context.textBaseline = "middle";
  let y = RULER - scroll;
  for (const lane of lanes) {
    if (y < height && y + tallOf(lane) > RULER) drawLane(lane, y);
    y += tallOf(lane);
  }
  drawSteps();
  drawRange();
  drawRuler();
  if (pinned) outline(pinned, theme.hit, 2);
  if (hovered) outline(hovered, theme.hit, 1);
}

function drawLane(lane, y) {
  for (let k = 0; k < rowsOf(lane); k++) {
    const top = y + HEAD + k * ROW;
    if (top > height || top + ROW < RULER) continue;
    context.globalAlpha = hits ? 0.22 : 1;
    drawRow(lane, lane.rows[k], top, !hits);
    context.globalAlpha = 1;
    if (hits && lane.found) drawRow(lane, lane.found[k], top, true);
  }
  context.fillStyle = theme.panel;
  context.fillRect(0, y, width, HEAD);
  context.fillStyle = theme.text;
  context.textAlign = "left";
  const found = lane.found && !lane.open ? ` (${lane.found.reduce((n, r) => n + r.bars.length, 0)} found)` : "";
  context.fillText(`${lane.open ? "▾" : "▸"} ${lane.label}${found}`, 5, y + HEAD / 2 + 0.5, width - 10);
}

function drawRow(lane, row, top, named) {
  const k = scale();
  const tall = ROW - 1;
  let i = above(row.end, view.from);
  while (i < row.start.length && row.start[i] < view.to) {
    const left = (row.start[i] - view.from) * k;
    const right = (row.end[i] - view.from) * k;
    const colour = colours[lane.class[row.bars[i]]];
    context.fillStyle = colour.fill;
    if (right - left < 1) {
      const pixel = Math.floor(left);
      context.fillRect(pixel, top, 1, tall);
      i = Math.max(i + 1, above(row.end, view.from + (pixel + 1) / k));
      continue;
    }
    const x = Math.max(left, -1);
    const wide = Math.min(right, width + 1) - x;
    context.fillRect(x, top, wide > 3 ? wide - 0.6 : wide, tall);
    if (named && wide > 28) label(names[lane.name[row.bars[i]]], colour.ink, x + 3, top + tall / 2 + 0.5, wide - 7);
    i += 1;
  }
}

function label(text, ink, x, y, room) {
  const most = Math.floor(room / 5.2);
  if (most < 3) return;
  let shown = text.length > most ? text.slice(0, most) : text;
  while (shown.length > 1 && context.measureText(shown).width > room) shown = shown.slice(0, -2);
  if (shown.length < text.length) shown = shown.slice(0, -1) + "…";
  context.fillStyle = ink;
  context.textAlign = "left";
  context.fillText(shown, x, y);
}

function drawSteps() {
  context.strokeStyle = theme.dim;
  context.globalAlpha = 0.55;
  context.setLineDash([3, 3]);
  context.beginPath();
  let last = -9;
  for (const [, start, length] of steps) {
    for (const t of [start, start + length]) {
      const x = Math.round(xOf(t)) + 0.5;
      if (x < 0 || x > width || x - last < 3) continue;
      context.moveTo(x, RULER);
      context.lineTo(x, height);
      last = x;
    }
  }
  context.stroke();
  context.setLineDash([]);
  context.globalAlpha = 1;
}

function drawRuler() {
  context.fillStyle = theme.bg;
  context.fillRect(0, 0, width, RULER);
  const rough = ((view.to - view.from) * 100) / width;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough) || 10 * power;
  context.strokeStyle = theme.rule;
  context.fillStyle = theme.dim;
  context.textAlign = "center";
  context.beginPath();
  for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
    const x = Math.round(xOf(t)) + 0.5;
    context.moveTo(x, 14);
    context.lineTo(x, 18);
    if (x > 20 && x < width - 28) context.fillText(t === 0 ? "0" : time(t), x, 8);
  }
  context.moveTo(0, RULER - 0.5);
  context.lineTo(width, RULER - 0.5);
  context.stroke();
  let free = 0;
  for (const [number, start, length] of steps) {
    const left = Math.max(0, xOf(start));
    const right = Math.min(width, xOf(start + length));
    if (right - left < 1) continue;
    context.fillStyle = theme.dim;
    context.fillRect(left, 19, Math.max(1, right - left - 1), 2);
    const text = `step ${number}`;
    const wide = context.measureText(text).width;
    const x = (left + right) / 2;
    if (wide < right - left && x - wide / 2 > free) {
      context.fillStyle = theme.text;
      context.fillText(text, x, 28);
      free = x + wide / 2 + 4;
    }
  }
}

function drawRange() {
  if (!range) return;
  const [from, to] = range[0] < range[1] ? range : [range[1], range[0]];
  const left = xOf(from);
  const right = xOf(to);
  context.fillStyle = theme.focus;
  context.globalAlpha = 0.18;
  context.fillRect(left, RULER, right - left, height);
  context.globalAlpha = 1;
  context.fillRect(left, RULER, 1, height);
  context.fillRect(right, RULER, 1, height);
  const text = time(to - from);
  const wide = context.measureText(text).width + 12;
  const x = Math.min(Math.max((left + right - wide) / 2, 2), width - wide - 2);
  context.fillRect(x, RULER + 4, wide, 18);
  context.fillStyle = luminance(theme.focus) > 0.3 ? "#000" : "#fff";
  context.textAlign = "left";
  context.fillText(text, x + 6, RULER + 13.5);
}

function outline(bar, colour, thick) {
  const place = placeOf(bar);
  if (!place || place.y < RULER - ROW || place.y > height) return;
  const left = Math.max(-2, xOf(bar.start));
  const right = Math.min(width + 2, Math.max(xOf(bar.end), left + 2));
  context.strokeStyle = colour;
  context.lineWidth = thick;
  context.strokeRect(left, place.y, right - left, ROW - 1);
  context.lineWidth = 1;
}
