// Search by name: count, time covered, jump from one to the next.

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
