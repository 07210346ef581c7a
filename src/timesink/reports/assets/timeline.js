"use strict";
// The timeline: lanes of bars on a canvas. Per row of a lane the bars are sorted and do not overlap,
// so what is visible is found by binary search, and bars thinner than a pixel are drawn as one.
(() => {
  const box = document.getElementById("timeline");
  const packed = document.getElementById("timeline-data");
  if (!box || !packed) return;
  const $ = (id) => document.getElementById(id);
  const canvas = $("tl-canvas");
  const context = canvas.getContext("2d");
  const RULER = 36;
  const HEAD = 17;
  const ROW = 17;
  const TALL = 520;
  const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif';

  let lanes = [];
  let steps = [];
  let names = [];
  let data = null;
  let span = 1;
  let width = 0;
  let height = 0;
  let view = { from: 0, to: 1 };
  let scroll = 0;
  let colours = [];
  let theme = {};
  let hits = null; // found bars in order of time, null: no search
  let at = -1;
  let pinned = null;
  let hovered = null;
  let range = null;
  let pending = false;

  // -- text -----------------------------------------------------------------------------------

  function time(ns) {
    for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) {
      if (Math.abs(ns) >= size) {
        const v = ns / size;
        const digits = Math.abs(v) < 9.995 ? 2 : Math.abs(v) < 99.95 ? 1 : 0;
        return `${v.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${unit}`;
      }
    }
    return `${Math.round(ns)} ns`;
  }

  const exact = (ns) => `${Number(ns).toLocaleString("en")} ns`;

  // -- data -----------------------------------------------------------------------------------

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(plain).text());
  }

  function makeRow(bars) {
    return {
      bars: Int32Array.from(bars, (b) => b.index),
      start: Float64Array.from(bars, (b) => b.start),
      end: Float64Array.from(bars, (b) => b.end),
    };
  }

  function makeLane(raw) {
    const lane = { ...raw, rows: [], found: null, open: true, start: new Float64Array(raw.dur.length) };
    const levels = [];
    let now = 0;
    raw.start.forEach((delta, index) => {
      now += delta;
      lane.start[index] = now;
      (levels[raw.depth[index]] ||= []).push({ index, start: now, end: now + raw.dur[index] });
    });
    lane.rows = Array.from(levels, (bars) => makeRow(bars || []));
    return lane;
  }

  // The first position whose value is above the limit.
  function above(values, limit) {
    let low = 0;
    let high = values.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[middle] > limit) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  // -- geometry -------------------------------------------------------------------------------

  const scale = () => width / (view.to - view.from);
  const xOf = (t) => (t - view.from) * scale();
  const tOf = (x) => view.from + x / scale();
  const rowsOf = (lane) => (lane.open ? lane.rows.length : Math.min(1, lane.rows.length));
  const tallOf = (lane) => HEAD + rowsOf(lane) * ROW + 4;
  const total = () => lanes.reduce((sum, lane) => sum + tallOf(lane), 0);

  function setView(from, to) {
    const least = Math.min(span, 50);
    const size = Math.min(Math.max(to - from, least), span * 1.04);
    let start = from + (to - from - size) / 2;
    start = Math.min(Math.max(start, -0.02 * span), span * 1.02 - size);
    view = { from: start, to: start + size };
    redraw();
  }

  function zoom(factor, x = width / 2) {
    const middle = tOf(x);
    setView(middle - (middle - view.from) * factor, middle + (view.to - middle) * factor);
  }

  function pan(share) {
    const by = share * (view.to - view.from);
    setView(view.from + by, view.to + by);
  }

  function scrollTo(y) {
    scroll = Math.min(Math.max(0, y), Math.max(0, total() - (height - RULER)));
    redraw();
  }

  const fit = () => setView(-0.01 * span, 1.01 * span);

  // -- drawing --------------------------------------------------------------------------------

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

  // -- bars -----------------------------------------------------------------------------------

  function barOf(lane, index) {
    const start = lane.start[index];
    return { lane, index, start, end: start + lane.dur[index], name: names[lane.name[index]] };
  }

  function placeOf(bar) {
    let y = RULER - scroll;
    for (const lane of lanes) {
      if (lane === bar.lane) {
        const depth = lane.depth[bar.index];
        return depth < rowsOf(lane) ? { y: y + HEAD + depth * ROW } : null;
      }
      y += tallOf(lane);
    }
    return null;
  }

  function laneAt(y) {
    let top = RULER - scroll;
    for (const lane of lanes) {
      if (y >= top && y < top + tallOf(lane)) return { lane, inside: y - top };
      top += tallOf(lane);
    }
    return null;
  }

  function barAt(x, y) {
    const spot = y > RULER ? laneAt(y) : null;
    if (!spot || spot.inside < HEAD) return null;
    const row = spot.lane.rows[Math.floor((spot.inside - HEAD) / ROW)];
    if (!row || Math.floor((spot.inside - HEAD) / ROW) >= rowsOf(spot.lane)) return null;
    const near = 1.5 / scale();
    const t = tOf(x);
    let best = null;
    let least = near;
    const first = above(row.end, t - near);
    for (let i = Math.max(0, first - 1); i < row.start.length && row.start[i] <= t + near; i++) {
      const off = Math.max(row.start[i] - t, t - row.end[i], 0);
      if (off < least || (off === 0 && best === null)) {
        best = row.bars[i];
        least = off;
      }
      if (off === 0 || i > first + 64) break;
    }
    return best === null ? null : barOf(spot.lane, best);
  }

  function facts(bar) {
    const list = [
      ["category", data.categories[bar.lane.category[bar.index]]],
      ["start", `${time(bar.start)} (${exact(bar.start)})`],
      ["duration", `${time(bar.end - bar.start)} (${exact(bar.end - bar.start)})`],
      ["lane", bar.lane.label],
    ];
    const step = steps.find(([, start, length]) => bar.start >= start && bar.start < start + length);
    if (step) list.push(["step", String(step[0])]);
    return list.concat(argsOf(bar));
  }

  function argsOf(bar) {
    const text = data.args[bar.lane.args[bar.index]];
    if (!text) return [];
    try {
      return Object.entries(JSON.parse(text)).map(([key, value]) => [
        key,
        typeof value === "string" ? value : JSON.stringify(value),
      ]);
    } catch {
      return [["args", text]];
    }
  }

  function showDetails(bar) {
    const details = $("tl-details");
    const list = document.createElement("dl");
    for (const [key, value] of facts(bar)) {
      const term = document.createElement("dt");
      const text = document.createElement("dd");
      term.textContent = key;
      text.textContent = value;
      list.append(term, text);
    }
    const title = document.createElement("p");
    const strong = document.createElement("b");
    strong.textContent = bar.name;
    title.append(strong);
    details.replaceChildren(title, list);
  }

  function say(text) {
    const line = document.createElement("p");
    line.className = "dim";
    line.textContent = text;
    $("tl-details").replaceChildren(line);
  }

  function pin(bar) {
    pinned = bar;
    if (bar) showDetails(bar);
    else say("Click a bar to pin its details here.");
    redraw();
  }

  function showTip(bar, x, y) {
    const tip = $("tl-tip");
    hovered = bar;
    tip.hidden = !bar;
    redraw();
    if (!bar) return;
    const name = document.createElement("b");
    name.textContent = bar.name;
    const lines = facts(bar).map(([key, value]) => `${key}: ${value.length > 140 ? value.slice(0, 139) + "…" : value}`);
    tip.replaceChildren(name, document.createTextNode(lines.slice(0, 14).join("\n")));
    const left = x + 14 + tip.offsetWidth > width ? Math.max(2, x - tip.offsetWidth - 14) : x + 14;
    const down = y + 14 + tip.offsetHeight > height ? Math.max(2, y - tip.offsetHeight - 10) : y + 14;
    tip.style.left = `${left}px`;
    tip.style.top = `${down}px`;
  }

  // -- search ---------------------------------------------------------------------------------

  function search(text) {
    const wanted = text.trim().toLowerCase();
    at = -1;
    if (!wanted) {
      hits = null;
      lanes.forEach((lane) => (lane.found = null));
      $("tl-hits").textContent = "";
      return redraw();
    }
    const match = names.map((name) => name.toLowerCase().includes(wanted));
    hits = [];
    let covered = 0;
    for (const lane of lanes) {
      let until = -Infinity;
      for (let i = 0; i < lane.start.length; i++) {
        if (!match[lane.name[i]]) continue;
        const end = lane.start[i] + lane.dur[i];
        covered += Math.max(0, end - Math.max(until, lane.start[i]));
        until = Math.max(until, end);
        hits.push({ lane, index: i, start: lane.start[i] });
      }
      lane.found = lane.rows.map((row) => {
        const keep = [...row.bars.keys()].filter((k) => match[lane.name[row.bars[k]]]);
        return {
          bars: Int32Array.from(keep, (k) => row.bars[k]),
          start: Float64Array.from(keep, (k) => row.start[k]),
          end: Float64Array.from(keep, (k) => row.end[k]),
        };
      });
    }
    hits.sort((a, b) => a.start - b.start);
    hits.covered = covered;
    tellHits();
    redraw();
  }

  function tellHits() {
    const position = at >= 0 ? `${(at + 1).toLocaleString("en")} of ` : "";
    $("tl-hits").textContent = hits.length
      ? `${position}${hits.length.toLocaleString("en")} found, ${time(hits.covered)} in all`
      : "none found";
    $("tl-hits").title = "The time that they cover, per lane, nested ones once.";
  }

  function jump(by) {
    if (!hits || !hits.length) return;
    at = at < 0 ? (by > 0 ? 0 : hits.length - 1) : (at + by + hits.length) % hits.length;
    const bar = barOf(hits[at].lane, hits[at].index);
    bar.lane.open = true;
    const size = Math.min(view.to - view.from, Math.max((bar.end - bar.start) * 12, 20000));
    const middle = (bar.start + bar.end) / 2;
    setView(middle - size / 2, middle + size / 2);
    const place = placeOf(bar);
    if (place && (place.y < RULER + HEAD || place.y > height - ROW)) scrollTo(scroll + place.y - height / 2);
    pin(bar);
    tellHits();
  }

  // -- hands ----------------------------------------------------------------------------------

  let drag = null;
  let selecting = false;
  const touches = new Map();

  function spot(event) {
    const rect = canvas.getBoundingClientRect();
    return [event.clientX - rect.left, event.clientY - rect.top];
  }

  canvas.addEventListener("pointerdown", (event) => {
    const [x, y] = spot(event);
    canvas.setPointerCapture(event.pointerId);
    touches.set(event.pointerId, x);
    drag = { x, y, from: view.from, to: view.to, scroll, moved: false, select: event.shiftKey || selecting };
    if (drag.select) range = [tOf(x), tOf(x)];
  });

  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = spot(event);
    if (touches.size === 2 && touches.has(event.pointerId)) return pinch(event.pointerId, x);
    if (!drag) return showTip(barAt(x, y), x, y);
    if (Math.abs(x - drag.x) + Math.abs(y - drag.y) > 4) drag.moved = true;
    if (!drag.moved) return undefined;
    showTip(null);
    if (drag.select) {
      range[1] = tOf(x);
      say(`Selected: ${time(Math.abs(range[1] - range[0]))} (${exact(Math.round(Math.abs(range[1] - range[0])))}).`);
      return redraw();
    }
    const by = ((x - drag.x) / width) * (drag.to - drag.from);
    setView(drag.from - by, drag.to - by);
    return scrollTo(drag.scroll - (y - drag.y));
  });

  function pinch(id, x) {
    const [a, b] = [...touches.values()];
    touches.set(id, x);
    const [c, d] = [...touches.values()];
    drag = null;
    if (Math.abs(c - d) > 8) zoom(Math.abs(a - b) / Math.abs(c - d), (c + d) / 2);
  }

  function release(event) {
    touches.delete(event.pointerId);
    if (drag && !drag.moved && event.type === "pointerup") click(...spot(event));
    drag = null;
  }
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => showTip(null));

  function click(x, y) {
    range = null;
    const place = y > RULER ? laneAt(y) : null;
    if (place && place.inside < HEAD) {
      place.lane.open = !place.lane.open;
      resize();
      return;
    }
    pin(barAt(x, y));
  }

  canvas.addEventListener(
    "wheel",
    (event) => {
      // Before a click the wheel belongs to the page, or nobody could scroll past the timeline.
      if (document.activeElement !== canvas && !event.ctrlKey) return;
      event.preventDefault();
      showTip(null);
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        pan((event.deltaX || event.deltaY) / width);
      } else {
        zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), spot(event)[0]);
      }
    },
    { passive: false },
  );

  const keys = {
    w: () => zoom(0.75), s: () => zoom(1 / 0.75), "+": () => zoom(0.75), "=": () => zoom(0.75),
    "-": () => zoom(1 / 0.75), a: () => pan(-0.15), d: () => pan(0.15),
    arrowleft: () => pan(-0.15), arrowright: () => pan(0.15),
    arrowup: () => scrollTo(scroll - 3 * ROW), arrowdown: () => scrollTo(scroll + 3 * ROW),
    f: fit, 0: fit, n: () => jump(1), p: () => jump(-1),
    escape: () => {
      range = null;
      pin(null);
    },
  };
  canvas.addEventListener("keydown", (event) => {
    const act = keys[event.key.toLowerCase()];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });

  function controls() {
    $("tl-in").addEventListener("click", () => zoom(0.5));
    $("tl-out").addEventListener("click", () => zoom(2));
    $("tl-fit").addEventListener("click", fit);
    $("tl-next").addEventListener("click", () => jump(1));
    $("tl-prev").addEventListener("click", () => jump(-1));
    $("tl-select").addEventListener("click", (event) => {
      selecting = !selecting;
      event.target.setAttribute("aria-pressed", String(selecting));
      canvas.classList.toggle("select", selecting);
    });
    $("tl-search").addEventListener("input", (event) => search(event.target.value));
    $("tl-search").addEventListener("keydown", (event) => {
      if (event.key === "Enter") jump(event.shiftKey ? -1 : 1);
    });
    const choice = $("tl-step");
    steps.slice(0, 1000).forEach(([number], i) => choice.add(new Option(String(number), String(i))));
    choice.parentElement.hidden = steps.length < 2;
    choice.addEventListener("change", () => {
      if (choice.value === "") return fit();
      const [, start, length] = steps[Number(choice.value)];
      return setView(start - 0.01 * length, start + 1.01 * length);
    });
  }

  async function begin() {
    data = await unpack(packed.textContent);
    ({ names, steps } = data);
    span = Math.max(1, data.dur);
    lanes = data.lanes.map(makeLane);
    readTheme();
    controls();
    resize();
    fit();
    draw();
    new ResizeObserver(resize).observe(canvas.parentElement);
    const recolour = () => {
      readTheme();
      redraw();
    };
    document.addEventListener("themechange", recolour);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
    box.dataset.ready = "true";
  }

  begin().catch((error) => {
    say(`The timeline cannot be shown in this browser: ${error.message}. Use \`timesink view\`.`);
    box.dataset.ready = "failed";
  });
})();
