(() => {
  const holder = document.getElementById("timeline-data");
  if (!holder) return;
  const data = JSON.parse(holder.textContent);
  const canvas = document.querySelector("#timeline canvas"), pen = canvas.getContext("2d");
  const tip = document.getElementById("tip"), pinned = document.getElementById("pinned");
  const find = document.getElementById("find"), found = document.getElementById("found"), range = document.getElementById("range");
  const ROW = 15, HEAD = 18, GAP = 10, AXIS = 22;
  let from = 0, to = Math.max(1, data.dur), width = 0, height = 0, mouse = null, drag = null, measure = null;
  let matches = null, hits = [], current = -1;

  // Lanes: starts are stored as differences; ends of each depth make hit tests a binary search.
  let top = AXIS;
  for (const lane of data.lanes) {
    let t = 0;
    lane.start = lane.start.map(d => (t += d));
    lane.rows = [];
    lane.start.forEach((_, i) => { (lane.rows[lane.depth[i]] ||= []).push(i); });
    for (let d = 0; d < lane.rows.length; d++) lane.rows[d] ||= [];
    lane.top = top;
    top += HEAD + lane.rows.length * ROW + GAP;
  }
  height = Math.max(120, top);

  const palette = ["#0072b2", "#00795c", "#d55e00", "#7b5ea7", "#b58900", "#cc6799", "#4a90c2", "#8a4a72", "#6b5b53", "#a33b20"];
  const colour = i => palette[data.lanes.length ? i % palette.length : 0];
  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const x = t => (t - from) / (to - from) * width;
  const time = ns => ns >= 1e9 ? (ns / 1e9).toFixed(3) + " s" : ns >= 1e6 ? (ns / 1e6).toFixed(3) + " ms" : ns >= 1e3 ? (ns / 1e3).toFixed(2) + " µs" : ns.toFixed(0) + " ns";

  // First bar of a row that could end after t: bars of one depth do not overlap, so ends are sorted.
  const firstVisible = (lane, row, t) => {
    let low = 0, high = row.length;
    while (low < high) {
      const mid = (low + high) >> 1, i = row[mid];
      if (lane.start[i] + lane.dur[i] < t) low = mid + 1; else high = mid;
    }
    return low;
  };

  function draw() {
    const ratio = devicePixelRatio || 1;
    width = canvas.clientWidth;
    canvas.style.height = height + "px";
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = css("--bg"); pen.fillRect(0, 0, width, height);
    axis();
    const fg = css("--fg"), dim = css("--dim"), bg = css("--bg");
    pen.textBaseline = "middle";
    for (const lane of data.lanes) {
      pen.fillStyle = dim; pen.font = "12px system-ui";
      pen.fillText(lane.label, 6, lane.top + HEAD / 2);
      lane.rows.forEach((row, depth) => {
        const y = lane.top + HEAD + depth * ROW;
        let last = -1;
        for (let k = firstVisible(lane, row, from); k < row.length; k++) {
          const i = row[k], a = lane.start[i];
          if (a > to) break;
          const left = Math.max(0, x(a)), right = Math.min(width, x(a + lane.dur[i]));
          if (right < last + 0.5 && right - left < 0.5) continue; // merged into the pixel before
          const w = Math.max(0.7, right - left);
          last = left + w;
          pen.globalAlpha = matches && !matches[lane.name[i]] ? 0.2 : 1;
          pen.fillStyle = colour(lane.cat[i]);
          pen.fillRect(left, y, Math.max(0.7, w - (w > 3 ? 0.6 : 0)), ROW - 1.5);
          if (w > 34) {
            pen.fillStyle = "#fff"; pen.font = "11px system-ui";
            const room = Math.floor((w - 6) / 6), name = data.names[lane.name[i]];
            pen.fillText(name.length > room ? name.slice(0, room - 1) + "…" : name, left + 3, y + ROW / 2 - 0.5);
          }
        }
      });
    }
    pen.globalAlpha = 1;
    if (measure) {
      const a = x(Math.min(...measure)), b = x(Math.max(...measure));
      pen.fillStyle = fg; pen.globalAlpha = 0.15; pen.fillRect(a, 0, b - a, height); pen.globalAlpha = 1;
    }
  }

  function axis() {
    const raw = (to - from) / Math.max(2, width / 130), power = 10 ** Math.floor(Math.log10(raw));
    const unit = [1, 2, 5, 10].find(m => m * power >= raw) * power;
    pen.strokeStyle = css("--line"); pen.fillStyle = css("--dim"); pen.font = "11px system-ui"; pen.textBaseline = "middle";
    pen.lineWidth = 1; pen.beginPath();
    for (let t = Math.ceil(from / unit) * unit; t <= to; t += unit) {
      pen.moveTo(x(t), AXIS); pen.lineTo(x(t), height);
      pen.fillText(time(t), x(t) + 3, AXIS / 2);
    }
    pen.stroke();
    pen.strokeStyle = css("--accent"); pen.lineWidth = 1.5; pen.beginPath();
    for (const [, start, dur] of data.steps) for (const t of [start, start + dur])
      if (t >= from && t <= to) { pen.moveTo(x(t), 0); pen.lineTo(x(t), height); }
    pen.stroke();
  }

  let asked = false;
  const redraw = () => { if (!asked) { asked = true; requestAnimationFrame(() => { asked = false; draw(); }); } };

  function view(a, b) {
    const span = Math.min(data.dur || 1, Math.max(50, b - a));
    from = Math.min(Math.max(0, a), Math.max(0, data.dur - span)); to = from + span; redraw();
  }
  const zoom = (factor, at = (from + to) / 2) => view(at - (at - from) * factor, at + (to - at) * factor);
  const move = share => view(from + (to - from) * share, to + (to - from) * share);

  function hit(px, py) {
    const t = from + px / width * (to - from), slack = (to - from) / width * 1.5;
    for (const lane of data.lanes) {
      const depth = Math.floor((py - lane.top - HEAD) / ROW);
      if (depth < 0 || depth >= lane.rows.length) continue;
      const row = lane.rows[depth], k = firstVisible(lane, row, t - slack);
      if (k < row.length && lane.start[row[k]] <= t + slack) return [lane, row[k]];
    }
    return null;
  }

  function describe([lane, i]) {
    const args = lane.args[i] >= 0 ? data.args[lane.args[i]] : "";
    return `${data.names[lane.name[i]]}\n${data.categories[lane.cat[i]]} · ${lane.label}\nstart ${time(lane.start[i])} · duration ${time(lane.dur[i])}` + (args && args !== "{}" ? `\n${args}` : "");
  }

  const place = e => { const box = canvas.getBoundingClientRect(); return [e.clientX - box.left, e.clientY - box.top]; };
  const at = px => from + px / width * (to - from);
  canvas.addEventListener("wheel", e => { e.preventDefault(); const [px] = place(e); if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) move(e.deltaX / width); else zoom(Math.exp(e.deltaY * 0.0015), at(px)); }, { passive: false });
  canvas.addEventListener("pointerdown", e => { canvas.setPointerCapture(e.pointerId); const [px] = place(e); drag = { px, from, to, moved: false, shift: e.shiftKey }; if (e.shiftKey) measure = [at(px), at(px)]; });
  canvas.addEventListener("pointermove", e => {
    const [px, py] = place(e);
    if (drag) {
      drag.moved ||= Math.abs(px - drag.px) > 3;
      if (drag.shift) { measure[1] = at(px); range.textContent = "measured " + time(Math.abs(measure[1] - measure[0])); redraw(); }
      else { const d = (drag.px - px) / width * (drag.to - drag.from); view(drag.from + d, drag.to + d); }
      tip.hidden = true; return;
    }
    const bar = hit(px, py);
    tip.hidden = !bar;
    if (bar) {
      tip.textContent = describe(bar);
      tip.style.left = Math.max(0, Math.min(px + 12, width - tip.offsetWidth - 6)) + "px";
      tip.style.top = Math.max(0, Math.min(py + 14, height - tip.offsetHeight - 4)) + "px";
    }
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("pointerup", e => {
    if (drag && !drag.moved) { const bar = hit(...place(e)); pinned.hidden = !bar; if (bar) pinned.textContent = describe(bar); if (!drag.shift) { measure = null; range.textContent = ""; redraw(); } }
    drag = null;
  });
  const actions = { in: () => zoom(0.6), out: () => zoom(1 / 0.6), left: () => move(-0.3), right: () => move(0.3), fit: () => view(0, data.dur), next: () => jump(1) };
  for (const b of document.querySelectorAll("#timeline [data-do]")) b.addEventListener("click", () => actions[b.dataset.do]());
  canvas.addEventListener("keydown", e => {
    const keys = { w: "in", s: "out", a: "left", d: "right", f: "fit", ArrowUp: "in", ArrowDown: "out", ArrowLeft: "left", ArrowRight: "right" };
    const action = keys[e.key.length === 1 ? e.key.toLowerCase() : e.key];
    if (action && !e.ctrlKey && !e.metaKey) { e.preventDefault(); actions[action](); }
  });

  function search() {
    const wanted = find.value.toLowerCase();
    matches = null; hits = []; current = -1; found.textContent = "";
    if (wanted) {
      matches = data.names.map(n => n.toLowerCase().includes(wanted));
      let total = 0;
      for (const lane of data.lanes) lane.name.forEach((n, i) => { if (matches[n]) { hits.push([lane, i]); total += lane.dur[i]; } });
      hits.sort((a, b) => a[0].start[a[1]] - b[0].start[b[1]]);
      found.textContent = `${hits.length.toLocaleString("en")} found, ${time(total)} in all`;
    }
    redraw();
  }
  function jump(by) {
    if (!hits.length) return;
    current = (current + by + hits.length) % hits.length;
    const [lane, i] = hits[current], span = Math.max(lane.dur[i] * 6, 2000);
    view(lane.start[i] + lane.dur[i] / 2 - span / 2, lane.start[i] + lane.dur[i] / 2 + span / 2);
    pinned.hidden = false; pinned.textContent = describe(hits[current]);
  }
  find.addEventListener("input", search);
  find.addEventListener("keydown", e => { if (e.key === "Enter") { e.preventDefault(); jump(e.shiftKey ? -1 : 1); } });
  addEventListener("resize", redraw);
  document.addEventListener("themechange", redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  draw();
})();
