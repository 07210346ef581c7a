// Pointer, wheel, keys, buttons; and the start.

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
