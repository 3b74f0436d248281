// What is looked at: a span of time, the rows of the nodes that are shown, and what is filtered out.

const GUTTER = 112, AXIS = 26, TALLEST = 72, FLATTEST = 2;
const PALETTE = {
  light: ["#2f6fb5", "#12806a", "#7a4fb5", "#5b7f1c", "#a0447e", "#1f8aa8", "#6b5b3e", "#3f51b5", "#00796b", "#8d6e00", "#607d8b", "#9c27b0"],
  dark: ["#6ba6e8", "#3fc1a4", "#b391ee", "#a3cc4f", "#e285bf", "#58c7e6", "#c2ad84", "#93a2ff", "#4db6ac", "#d8b942", "#9fb4c0", "#dd8cf0"],
};

const view = {
  since: 0, until: 1, scroll: 0, row: 24, passing: 0, width: 0, height: 0,
  types: null, nodes: null, timers: true, rowOf: null, shown: [],
  event: -1, arrow: -1, marks: null, past: true, future: true, alone: false, colours: {}, palette: [],
};

function span(run) { return (run.end || 1) * 1.02; }

function setRows(run) {
  view.shown = [];
  view.rowOf = new Int32Array(run.nodes.length).fill(-1);
  run.nodes.forEach((name, node) => { if (view.nodes[node]) { view.rowOf[node] = view.shown.length; view.shown.push(node); } });
}

function fit(run) {
  view.since = -span(run) * 0.01;
  view.until = span(run);
  fitRows();
}

function fitRows() {
  const room = view.height - AXIS - 6;
  view.row = Math.max(FLATTEST, Math.min(TALLEST, room / Math.max(1, view.shown.length)));
  view.scroll = 0;
}

function x(time) { return GUTTER + (time - view.since) * scale(); }
function scale() { return (view.width - GUTTER - 8) / (view.until - view.since); }
function timeAt(px) { return view.since + (px - GUTTER) / scale(); }
function y(node) { return AXIS + (view.rowOf[node] + 0.5) * view.row - view.scroll; }
function nodeAt(py) { return view.shown[Math.floor((py - AXIS + view.scroll) / view.row)] ?? -1; }

function zoom(run, factor, px = (view.width + GUTTER) / 2) {
  const at = timeAt(px), shortest = Math.max(1e-9, run.end * 1e-9);
  const wide = Math.min(span(run) * 1.2, Math.max(shortest, (view.until - view.since) * factor));
  const share = (at - view.since) / (view.until - view.since);
  view.since = at - share * wide;
  view.until = view.since + wide;
  keepInside(run);
}

function move(run, dx, dy) {
  const time = dx / scale();
  view.since += time;
  view.until += time;
  view.scroll += dy;
  keepInside(run);
}

function stretch(factor, py = view.height / 2) {
  const at = (py - AXIS + view.scroll) / view.row;
  view.row = Math.max(FLATTEST, Math.min(TALLEST * 2, view.row * factor));
  view.scroll = at * view.row - (py - AXIS);
  keepRowsInside();
}

function keepInside(run) {
  const wide = view.until - view.since, margin = Math.min(wide, span(run)) * 0.5;
  view.since = Math.max(-margin, Math.min(span(run) + margin - wide, view.since));
  if (wide > span(run)) view.since = Math.max(span(run) - wide, Math.min(-span(run) * 0.01, view.since));
  view.until = view.since + wide;
  keepRowsInside();
}

function keepRowsInside() {
  const most = view.shown.length * view.row + AXIS + 6 - view.height;
  view.scroll = Math.max(0, Math.min(most, view.scroll));
}

// Bring an event into view, moving as little as possible.
function reveal(run, event) {
  const px = x(run.begun[event]), node = run.e_node[event];
  if (px < GUTTER + 30 || px > view.width - 40) move(run, px - (view.width + GUTTER) / 2, 0);
  if (view.rowOf[node] < 0) return;
  const py = y(node);
  if (py < AXIS + 10) view.scroll -= AXIS + 30 - py;
  if (py > view.height - 10) view.scroll += py - view.height + 30;
  keepRowsInside();
}

function eventShows(run, e) {
  const arrow = run.e_arrow[e];
  if (view.rowOf[run.e_node[e]] < 0 || !run.e_noticed[e]) return false;
  if (view.alone && view.marks && !relation(view.marks[e])) return false;
  if (arrow < 0) return true;
  return view.types[run.a_type[arrow]] && (view.timers || !(run.a_flags[arrow] & TIMER));
}

function arrowShows(run, a) {
  if (!view.types[run.a_type[a]] || view.rowOf[run.a_source[a]] < 0 || view.rowOf[run.a_target[a]] < 0) return false;
  if (run.a_flags[a] & TIMER && (!view.timers || run.a_effect[a] < 0)) return false;
  return !(view.alone && view.marks && !arrowRelation(run, a));
}

// 0 if it has nothing to do with the chosen event, or is not asked for.
function relation(mark) { return mark === 3 || (mark === 1 && view.past) || (mark === 2 && view.future) ? mark : 0; }

function arrowRelation(run, a) {
  if (!view.marks) return 0;
  const from = run.a_cause[a] < 0 ? 0 : view.marks[run.a_cause[a]];
  const to = run.a_effect[a] < 0 ? 0 : view.marks[run.a_effect[a]];
  if (a === view.arrow) return 3;
  if (to & 1 && from & 1) return view.past ? 1 : 0;
  if (from & 2 && to & 2) return view.future ? 2 : 0;
  if (from === 3) return view.future ? 2 : 0;
  return 0;
}

// The arrows to draw: those that begin or end in the span of time that is looked at and, while there is room for them,
// those that only pass through. Null if there are more than wanted.
function arrowsInView(run, most) {
  const found = [], passing = [], order = run.bySent;
  for (let block = 0; block < run.blocks.length; block++) {
    if (run.sent[order[block * BLOCK]] > view.until) break;
    if (run.blocks[block] < view.since) continue;
    const end = Math.min(order.length, (block + 1) * BLOCK);
    for (let place = block * BLOCK; place < end; place++) {
      const a = order[place];
      if (run.sent[a] > view.until) break;
      if (run.until[a] < view.since || !arrowShows(run, a) || outOfRows(run, a)) continue;
      if (run.sent[a] < view.since && run.until[a] > view.until) passing.push(a);
      else if (found.push(a) > most) return null;
    }
  }
  view.passing = found.length + passing.length > most ? passing.length : 0;
  return view.passing ? found : passing.concat(found);
}

function outOfRows(run, a) {
  const from = y(run.a_source[a]), to = y(run.a_target[a]);
  return Math.max(from, to) < AXIS || Math.min(from, to) > view.height;
}

// The first place in `byTime` whose event begins at this time or later.
function firstAt(run, time) {
  let low = 0, high = run.byTime.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (run.begun[run.byTime[middle]] < time) low = middle + 1; else high = middle;
  }
  return low;
}

function eventsInView(run, visit) {
  const margin = 12 / scale();
  for (let place = firstAt(run, view.since - margin); place < run.events; place++) {
    const e = run.byTime[place];
    if (run.begun[e] > view.until + margin) break;
    if (eventShows(run, e)) visit(e);
  }
}
