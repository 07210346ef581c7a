// What the timeline knows: its data, what is in view, and where things are on the canvas.
// All files of this folder are joined into one function, in the order of their names.

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
