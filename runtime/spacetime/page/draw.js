// Drawing: arrows where there is room for them, and how much happens where there is not.

const MOST_ARROWS = 2500, MOST_HEADS = 1500, MOST_LABELS = 90, BIN = 3, FADED = 0.13;

const canvas = document.getElementById("picture");
const pen = canvas.getContext("2d");
const small = document.createElement("canvas");
let detail = [];

function colours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["paper", "ink", "soft", "line", "faint", "lost", "late", "wait", "busy", "down", "up", "past", "future", "chosen", "heat"])
    view.colours[name] = style.getPropertyValue("--" + name).trim();
  view.palette = PALETTE[matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"];
}

function typeColour(type) { return view.palette[type % view.palette.length]; }

function draw(run) {
  const ratio = devicePixelRatio || 1, ink = view.colours;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.fillStyle = ink.paper;
  pen.fillRect(0, 0, view.width, view.height);
  const arrows = arrowsInView(run, MOST_ARROWS);
  detail = arrows ?? [];
  pen.save();
  pen.beginPath();
  pen.rect(GUTTER, AXIS, view.width - GUTTER, view.height - AXIS);
  pen.clip();
  drawLines(run);
  if (arrows) {
    drawSpans(run);
    drawArrows(run, arrows);
    if (arrows.length <= MOST_LABELS * 6 || view.marks) drawLabels(run, arrows);
    drawPoints(run);
    drawLosses(run, arrows.filter(a => run.lost[a]));
  } else {
    drawDensity(run);
  }
  drawCrashes(run);
  drawMarks(run);
  drawChosen(run);
  pen.restore();
  drawNames(run);
  drawAxis();
  return arrows ? "arrows" : "density";
}

function drawLines(run) {
  pen.strokeStyle = view.colours.line;
  pen.lineWidth = 1;
  pen.beginPath();
  for (const node of rowsInView()) {
    const at = Math.round(y(node)) + 0.5;
    pen.moveTo(Math.max(GUTTER, x(0)), at);
    pen.lineTo(Math.min(view.width, x(span(run))), at);
  }
  pen.stroke();
  for (const [node, since, until] of run.down) {
    if (view.rowOf[node] < 0 || since > view.until || until < view.since) continue;
    const left = Math.max(GUTTER, x(since)), right = Math.min(view.width, x(Math.min(until, span(run))));
    const tall = Math.min(16, view.row * 0.8), at = y(node);
    pen.fillStyle = view.colours.paper;
    pen.fillRect(left, at - 1, right - left, 2);
    pen.fillStyle = view.colours.down;
    pen.fillRect(left, at - tall / 2, Math.max(1, right - left), tall);
  }
}

function rowsInView() {
  const first = Math.max(0, Math.floor(view.scroll / view.row));
  return view.shown.slice(first, Math.ceil((view.scroll + view.height) / view.row) + 1);
}

// Waiting in the queue and being handled, where they last long enough to be seen.
function drawSpans(run) {
  const tall = Math.max(2, Math.min(6, view.row * 0.3)), shortest = 0.7 / scale();
  eventsInView(run, e => {
    const at = y(run.e_node[e]) - tall / 2;
    pen.globalAlpha = view.marks && !relation(view.marks[e]) ? FADED : 1;
    for (const [from, long, colour] of [[run.e_arrival[e], run.e_wait[e], "wait"], [run.begun[e], run.e_busy[e], "busy"]]) {
      if (long < shortest) continue;
      pen.fillStyle = view.colours[colour];
      pen.fillRect(x(from), at, long * scale(), tall);
    }
  });
  pen.globalAlpha = 1;
}

function arrowStyle(run, a) {
  const tie = arrowRelation(run, a), flags = run.a_flags[a], ink = view.colours;
  const style = { colour: typeColour(run.a_type[a]), wide: 1.2, dash: "", alpha: flags & TIMER ? 0.55 : 0.9 };
  if (flags & TIMER) style.dash = "2 3";
  if (flags & UNDERLAY) style.dash = "7 3";
  if (run.a_late[a]) Object.assign(style, { colour: ink.late, wide: 1.8 });
  if (run.lost[a]) Object.assign(style, { colour: ink.lost, wide: 1.3, dash: "5 3" });
  if (run.fates[run.a_fate[a]][0] === "under way") Object.assign(style, { colour: ink.soft, dash: "1 3" });
  if (view.marks) {
    if (!tie) style.alpha = FADED;
    else if (!run.lost[a]) Object.assign(style, { colour: tie === 2 ? ink.future : ink.past, wide: tie === 3 ? 3 : 2, alpha: 1 });
  }
  return style;
}

// Where an arrow ends: what is lost on the way ends half-way.
function ends(run, a) {
  const x0 = x(run.sent[a]), y0 = y(run.a_source[a]), y1 = y(run.a_target[a]);
  if (!isNaN(run.arrival[a])) return [x0, y0, x(run.arrival[a]), y1];
  const x1 = x(run.sent[a] + run.usual);
  return [x0, y0, x0 + (x1 - x0) * 0.55, y0 + (y1 - y0) * 0.55];
}

function sag() { return Math.min(view.row * 0.45, 16); }

function drawArrows(run, arrows) {
  const groups = new Map();
  for (const a of arrows) {
    const style = arrowStyle(run, a), key = Object.values(style).join();
    if (!groups.has(key)) groups.set(key, [style, []]);
    groups.get(key)[1].push(a);
  }
  for (const [style, members] of [...groups.values()].sort((p, q) => p[0].alpha - q[0].alpha)) {
    pen.strokeStyle = pen.fillStyle = style.colour;
    pen.globalAlpha = style.alpha;
    pen.lineWidth = style.wide;
    pen.setLineDash(style.dash ? style.dash.split(" ").map(Number) : []);
    pen.beginPath();
    for (const a of members) {
      const [x0, y0, x1, y1] = ends(run, a);
      pen.moveTo(x0, y0);
      if (run.a_flags[a] & TIMER) pen.quadraticCurveTo((x0 + x1) / 2, y0 + 2 * sag(), x1, y1);
      else pen.lineTo(x1, y1);
    }
    pen.stroke();
    pen.setLineDash([]);
    if (arrows.length <= MOST_HEADS) drawHeads(run, members);
  }
  pen.globalAlpha = 1;
}

function drawHeads(run, members) {
  const size = Math.max(4, Math.min(8, view.row * 0.3));
  pen.beginPath();
  for (const a of members) {
    if (run.a_flags[a] & TIMER || run.lost[a] || isNaN(run.arrival[a])) continue;
    const [x0, y0, x1, y1] = ends(run, a), long = Math.hypot(x1 - x0, y1 - y0);
    if (long < size) continue;
    const ux = (x1 - x0) / long * size, uy = (y1 - y0) / long * size;
    pen.moveTo(x1, y1);
    pen.lineTo(x1 - ux - uy * 0.42, y1 - uy + ux * 0.42);
    pen.lineTo(x1 - ux + uy * 0.42, y1 - uy - ux * 0.42);
  }
  pen.fill();
}

// Over the labels: a loss must not be overlooked.
function drawLosses(run, lost) {
  for (const faded of [true, false]) {
    pen.globalAlpha = faded ? FADED * 2 : 1;
    drawCrosses(lost.filter(a => faded === Boolean(view.marks && !arrowRelation(run, a))).map(a => ends(run, a).slice(2)));
  }
}

function drawCrosses(places) {
  if (!places.length) return;
  pen.strokeStyle = view.colours.lost;
  pen.lineWidth = 1.8;
  pen.beginPath();
  for (const [px, py] of places) {
    const r = Math.max(2.5, Math.min(4, view.row * 0.2));
    pen.moveTo(px - r, py - r); pen.lineTo(px + r, py + r);
    pen.moveTo(px + r, py - r); pen.lineTo(px - r, py + r);
  }
  pen.stroke();
}

function pointColour(run, e) {
  if (view.marks) {
    const tie = relation(view.marks[e]);
    return tie === 1 ? view.colours.past : tie === 2 ? view.colours.future : tie === 3 ? view.colours.chosen : view.colours.line;
  }
  return run.e_arrow[e] >= 0 ? typeColour(run.a_type[run.e_arrow[e]]) : view.colours.soft;
}

function drawPoints(run) {
  const r = Math.max(1.3, Math.min(3.6, view.row * 0.16)), timer = run.kinds.indexOf("timer");
  const groups = new Map();
  eventsInView(run, e => {
    const colour = pointColour(run, e);
    if (!groups.has(colour)) groups.set(colour, []);
    groups.get(colour).push(e);
  });
  for (const [colour, members] of groups) {
    pen.fillStyle = colour;
    pen.beginPath();
    for (const e of members) {
      const px = x(run.begun[e]), py = y(run.e_node[e]);
      if (run.e_kind[e] === timer) pen.rect(px - r * 0.85, py - r * 0.85, r * 1.7, r * 1.7);
      else { pen.moveTo(px + r, py); pen.arc(px, py, r, 0, 7); }
    }
    pen.fill();
  }
}

// How much happens where, in bins of a few pixels; the darker, the more.
function drawDensity(run) {
  const bins = Math.ceil((view.width - GUTTER) / BIN), rows = view.shown.length;
  const all = new Uint32Array(bins * rows), tied = view.marks ? new Uint8Array(bins * rows) : null;
  const wide = scale() / BIN, start = view.since;
  let most = 1;
  eventsInView(run, e => {
    const bin = Math.floor((run.begun[e] - start) * wide);
    if (bin < 0 || bin >= bins) return;
    const cell = view.rowOf[run.e_node[e]] * bins + bin;
    most = Math.max(most, ++all[cell]);
    if (tied) tied[cell] = Math.max(tied[cell], relation(view.marks[e]));
  });
  // A pixel for each bin, enlarged: thousands of small rectangles would take ten times as long.
  if (!bins || !rows) return;
  const inks = [view.colours.heat, view.colours.past, view.colours.future, view.colours.chosen].map(colour => parseInt(colour.slice(1), 16));
  const pixels = new ImageData(bins, rows), steps = Math.log(1 + most);
  for (let cell = 0; cell < all.length; cell++) {
    if (!all[cell]) continue;
    const tie = tied ? tied[cell] : 0, alpha = (0.18 + 0.82 * Math.log(1 + all[cell]) / steps) * (tied && !tie ? FADED : 1);
    pixels.data.set([inks[tie] >> 16, inks[tie] >> 8 & 255, inks[tie] & 255, 255 * alpha], cell * 4);
  }
  small.width = bins;
  small.height = rows;
  small.getContext("2d").putImageData(pixels, 0, 0);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(small, GUTTER, AXIS - view.scroll, bins * BIN, rows * view.row);
  if (view.row > 6) {
    pen.fillStyle = view.colours.paper;
    for (let row = 0; row < rows; row++) pen.fillRect(GUTTER, AXIS + row * view.row - view.scroll - 1, view.width, 2);
  }
  drawLostFromAfar(run);
}
