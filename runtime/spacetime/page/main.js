// Opening the page, and what the reader does with it.

let asked = false, level = "";

function refresh(run) {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; paint(run); });
}

function paint(run) {
  const began = performance.now();
  level = draw(run);
  drawOverview(run);
  document.getElementById("level").textContent = level === "density" ? "too much for arrows: darker means more events; zoom in"
    : view.passing ? `${view.passing.toLocaleString("en")} arrows that only pass through are left out` : "";
  diagram.painted = performance.now() - began;
}

function measure(run) {
  const box = canvas.parentElement, ratio = devicePixelRatio || 1, first = !view.width;
  view.width = box.clientWidth;
  view.height = box.clientHeight;
  canvas.width = view.width * ratio;
  canvas.height = view.height * ratio;
  if (first) fit(run); else keepRowsInside();
  paint(run);
}

function choose(run, event, arrow = -1) {
  view.event = event;
  view.arrow = arrow;
  view.marks = event < 0 ? null : related(run, event);
  if (event >= 0) reveal(run, event);
  showChosen(run);
  refresh(run);
}

// The event or arrow under the pointer: the nearest point, else the nearest arrow.
function under(run, px, py) {
  let best = 9, found = { event: -1, arrow: -1 };
  if (px < GUTTER || py < AXIS) return found;
  const near = 10 / scale(), time = timeAt(px);
  for (let place = firstAt(run, time - near); place < run.events && run.begun[run.byTime[place]] <= time + near; place++) {
    const e = run.byTime[place];
    if (!eventShows(run, e)) continue;
    const far = Math.hypot(x(run.begun[e]) - px, y(run.e_node[e]) - py);
    if (far < best) { best = far; found = { event: e, arrow: -1 }; }
  }
  if (found.event >= 0) return found;
  best = 6;
  for (const a of detail) {
    if (run.a_flags[a] & TIMER) continue;
    const far = distance(px, py, ...ends(run, a));
    if (far < best) { best = far; found = { event: run.a_effect[a] >= 0 && run.e_noticed[run.a_effect[a]] ? run.a_effect[a] : run.a_cause[a], arrow: a }; }
  }
  return found;
}

function distance(px, py, x0, y0, x1, y1) {
  const dx = x1 - x0, dy = y1 - y0, along = Math.max(0, Math.min(1, ((px - x0) * dx + (py - y0) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(px - x0 - along * dx, py - y0 - along * dy);
}

function tipFor(run, found) {
  if (found.arrow < 0 && found.event < 0) return "";
  const a = found.arrow >= 0 ? found.arrow : run.e_arrow[found.event];
  const head = found.arrow >= 0 ? `${run.nodes[run.a_source[a]]} → ${run.nodes[run.a_target[a]]}: ${run.types[run.a_type[a]]}` : `${titleOf(run, found.event)}, ${seconds(run.begun[found.event])}`;
  const fields = a >= 0 ? fieldsOf(run, a).map(([name, value]) => `${name} = ${value.length > 60 ? value.slice(0, 58) + "…" : value}`) : [];
  const fate = a >= 0 && run.fates[run.a_fate[a]][0] !== "arrived" ? [run.fates[run.a_fate[a]][1]] : [];
  const late = a >= 0 && run.a_late[a] ? [`late: ${text(run, run.a_late[a])}`] : [];
  return [head, ...fields.slice(0, 8), ...fate, ...late].join("\n");
}

function step(run, key) {
  const e = view.event;
  if (e < 0) { const first = run.byTime.find(event => eventShows(run, event) && run.begun[event] >= view.since); if (first !== undefined) choose(run, first); return; }
  const arrow = run.e_arrow[e];
  const effects = sendsOf(run, e).map(a => run.a_effect[a]).filter(f => f >= 0 && run.e_noticed[f]).sort((f, g) => run.begun[f] - run.begun[g]);
  const to = { ArrowLeft: run.e_before[e], ArrowRight: run.after[e], ArrowUp: arrow >= 0 ? run.a_cause[arrow] : -1, ArrowDown: effects.length ? effects[0] : -1 }[key];
  if (to >= 0) choose(run, to);
}

function listen(run) {
  const tip = document.getElementById("tip"), place = event => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  let held = null, moved = false;
  canvas.addEventListener("wheel", event => {
    event.preventDefault();
    const [px, py] = place(event), turn = event.deltaY * (event.deltaMode ? 30 : 1);
    if (event.altKey) stretch(Math.exp(-turn * 0.0015), py);
    else if (event.shiftKey) move(run, 0, turn || event.deltaX);
    else { zoom(run, Math.exp(turn * 0.0015), Math.max(GUTTER, px)); if (event.deltaX) move(run, event.deltaX, 0); }
    refresh(run);
  }, { passive: false });
  canvas.addEventListener("pointerdown", event => { if (event.button) return; held = place(event); moved = false; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", event => {
    const [px, py] = place(event);
    if (held) {
      if (!moved && Math.hypot(px - held[0], py - held[1]) < 4) return;
      moved = true;
      canvas.classList.add("moving");
      move(run, held[0] - px, held[1] - py);
      held = [px, py];
      tip.hidden = true;
      refresh(run);
      return;
    }
    tip.textContent = tipFor(run, under(run, px, py));
    tip.style.whiteSpace = "pre-line";
    tip.hidden = !tip.textContent;
    tip.style.left = `${Math.max(4, Math.min(px + 14, view.width - tip.offsetWidth - 6))}px`;
    tip.style.top = `${py + 18 + tip.offsetHeight > view.height ? py - tip.offsetHeight - 8 : py + 18}px`;
  });
  canvas.addEventListener("pointerup", event => {
    canvas.classList.remove("moving");
    if (held && !moved) { const found = under(run, ...place(event)); choose(run, found.event, found.arrow); }
    held = null;
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("dblclick", event => { zoom(run, 0.4, place(event)[0]); refresh(run); });
  const button = (id, act) => document.getElementById(id).addEventListener("click", () => { act(); refresh(run); });
  button("zoom-in", () => zoom(run, 0.5));
  button("zoom-out", () => zoom(run, 2));
  button("fit", () => fit(run));
  button("taller", () => stretch(1.4));
  button("flatter", () => stretch(1 / 1.4));
  document.getElementById("show-timers").addEventListener("change", event => { view.timers = event.target.checked; refresh(run); });
  document.getElementById("goto").addEventListener("change", event => { const e = run.byNumber(Number(event.target.value)); if (e >= 0) choose(run, e); });
  const jump = event => { const room = overview.clientWidth - GUTTER - 8, wide = view.until - view.since; view.since = (event.offsetX - GUTTER) / room * span(run) - wide / 2; view.until = view.since + wide; keepInside(run); refresh(run); };
  overview.addEventListener("pointerdown", event => { overview.setPointerCapture(event.pointerId); jump(event); });
  overview.addEventListener("pointermove", event => { if (event.buttons & 1) jump(event); });
  addEventListener("keydown", event => {
    if (/INPUT|BUTTON/.test(event.target.tagName) && event.key !== "Escape") return;
    if (event.ctrlKey || event.metaKey) return;
    if (event.key.startsWith("Arrow")) { event.preventDefault(); step(run, event.key); }
    else if (event.key === "Escape") choose(run, -1);
    else if (event.key === "+" || event.key === "=") zoom(run, 0.5);
    else if (event.key === "-") zoom(run, 2);
    else if (event.key === "0") fit(run);
    else return;
    refresh(run);
  });
  new ResizeObserver(() => measure(run)).observe(canvas.parentElement);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { colours(); fillFilters(); paint(run); });
}

// For whoever drives this page from outside.
const diagram = { ready: null, painted: 0 };
window.diagram = diagram;
let fillFilters;

diagram.ready = unpack(document.getElementById("data").textContent).then(run => {
  const wanted = (all, names) => Uint8Array.from(all, name => !names || names.includes(name));
  view.types = wanted(run.types, run.preset.types);
  view.nodes = wanted(run.nodes, run.preset.nodes);
  run.lostArrows = Array.from(run.bySent).filter(a => run.lost[a]);
  run.turns = Array.from(run.byTime).filter(e => ["crash", "recover"].includes(kindOf(run, e)));
  run.histogram = new Uint32Array(600);
  for (const time of run.begun) run.histogram[Math.min(599, Math.floor(time / span(run) * 600))]++;
  const places = new Map(run.e_number.length ? Array.from(run.e_number, (number, e) => [number, e]).filter(([number]) => number) : []);
  run.byNumber = number => places.get(number) ?? -1;
  document.getElementById("loading").remove();
  colours();
  setRows(run);
  fillFilters = buildFilters(run);
  fillFilters();
  listen(run);
  measure(run);
  if (run.preset.event) choose(run, run.byNumber(run.preset.event));
  Object.assign(diagram, {
    run, view, choose: (event, arrow) => choose(run, event, arrow), related: event => related(run, event),
    where: event => [x(run.begun[event]), y(run.e_node[event])], tip: arrow => ends(run, arrow).slice(2), middle: arrow => { const [x0, y0, x1, y1] = ends(run, arrow); return [(x0 + x1) / 2, (y0 + y1) / 2]; },
    paint: () => paint(run), zoom: factor => { zoom(run, factor); paint(run); }, move: (dx, dy) => { move(run, dx, dy); paint(run); },
    look: (since, until) => { view.since = since; view.until = until; paint(run); }, level: () => level,
    shownEvents: () => { let count = 0; for (let e = 0; e < run.events; e++) count += eventShows(run, e); return count; },
    shownArrows: () => { let count = 0; for (let a = 0; a < run.arrows; a++) count += arrowShows(run, a); return count; },
  });
  return true;
});
