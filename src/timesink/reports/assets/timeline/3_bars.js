// Single bars: where one is, what is under the pointer, what is known about it.

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
