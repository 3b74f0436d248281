// What is drawn over the picture: losses from afar, crashes, problems, labels, names, the axis, the whole run.

// One cross for each place at which something was lost, however much it was.
function drawLostFromAfar(run) {
  const seen = new Set(), places = [];
  for (const a of run.lostArrows) {
    if (run.sent[a] > view.until || run.until[a] < view.since || !arrowShows(run, a)) continue;
    const [, , px, py] = ends(run, a), key = Math.round(px / 9) * 65536 + Math.round(py / 9);
    if (!seen.has(key)) { seen.add(key); places.push([px, py]); }
  }
  pen.globalAlpha = view.marks ? FADED * 2 : 0.8;
  drawCrosses(places);
  pen.globalAlpha = 1;
}

function drawCrashes(run) {
  const crash = run.kinds.indexOf("crash"), recover = run.kinds.indexOf("recover");
  const r = Math.max(4, Math.min(7, view.row * 0.35));
  for (const e of run.turns) {
    if (view.rowOf[run.e_node[e]] < 0) continue;
    const px = x(run.e_arrival[e]), py = y(run.e_node[e]);
    if (px < GUTTER - r || px > view.width + r) continue;
    pen.beginPath();
    if (run.e_kind[e] === crash) {
      pen.strokeStyle = view.colours.lost;
      pen.lineWidth = 3;
      pen.moveTo(px - r, py - r); pen.lineTo(px + r, py + r);
      pen.moveTo(px + r, py - r); pen.lineTo(px - r, py + r);
      pen.stroke();
    } else if (run.e_kind[e] === recover) {
      pen.fillStyle = view.colours.up;
      pen.moveTo(px, py - r); pen.lineTo(px + r, py + r); pen.lineTo(px - r, py + r);
      pen.fill();
    }
  }
}

function markTime(run, after) {
  if (after === null) return run.end;
  if (after === 0) return 0;
  const e = run.byNumber(after);
  return e < 0 ? run.end : run.begun[e] + run.e_busy[e];
}

function drawMarks(run) {
  pen.font = "600 12px system-ui, sans-serif";
  run.marks.forEach(([words, after], place) => {
    const px = x(markTime(run, after));
    if (px < GUTTER || px > view.width) return;
    pen.strokeStyle = pen.fillStyle = view.colours.lost;
    pen.lineWidth = 1.5;
    pen.setLineDash([6, 4]);
    pen.beginPath();
    pen.moveTo(px, AXIS);
    pen.lineTo(px, view.height);
    pen.stroke();
    pen.setLineDash([]);
    const wide = Math.min(420, pen.measureText(words).width), left = px + wide + 8 > view.width ? px - wide - 6 : px + 6;
    pen.fillText(words, left, AXIS + 14 + 15 * place, 420);
  });
}

function drawChosen(run) {
  if (view.event < 0 || view.rowOf[run.e_node[view.event]] < 0) return;
  const px = x(run.begun[view.event]), py = y(run.e_node[view.event]);
  pen.strokeStyle = view.colours.chosen;
  pen.lineWidth = 2;
  pen.beginPath();
  pen.arc(px, py, Math.max(6, Math.min(9, view.row * 0.4)), 0, 7);
  pen.stroke();
}

// The type, and where there is much room the fields, beside the middle of an arrow; never over another label.
function drawLabels(run, arrows) {
  const taken = [], few = arrows.length <= 30;
  pen.font = "11px system-ui, sans-serif";
  pen.textBaseline = "middle";
  let drawn = 0;
  for (const a of arrows) {
    if (view.marks && !arrowRelation(run, a)) continue;
    const [x0, y0, x1, y1] = ends(run, a), timer = run.a_flags[a] & TIMER;
    if (Math.hypot(x1 - x0, y1 - y0) < 26 || x1 - x0 < (timer ? 60 : arrows.length > 40 ? 28 : 0)) continue;
    const fields = few ? fieldsOf(run, a).map(([, value]) => value).join(", ") : "";
    const name = run.types[run.a_type[a]], words = fields ? `${name}(${fields.length > 34 ? fields.slice(0, 32) + "…" : fields})` : name;
    const px = (x0 + x1) / 2 + 4, py = timer ? y0 + sag() + 3 : (y0 + y1) / 2, wide = pen.measureText(words).width;
    const box = [px - 1, py - 7, px + wide + 1, py + 7];
    if (box[2] > view.width || taken.some(t => t[0] < box[2] && box[0] < t[2] && t[1] < box[3] && box[1] < t[3])) continue;
    taken.push(box);
    pen.globalAlpha = 0.82;
    pen.fillStyle = view.colours.paper;
    pen.fillRect(box[0], box[1], box[2] - box[0], box[3] - box[1]);
    pen.globalAlpha = 1;
    pen.fillStyle = arrowStyle(run, a).colour;
    pen.fillText(words, px, py);
    if (++drawn >= MOST_LABELS) break;
  }
  pen.textBaseline = "alphabetic";
}

function drawNames(run) {
  pen.fillStyle = view.colours.paper;
  pen.fillRect(0, 0, GUTTER, view.height);
  pen.font = `${view.row < 12 ? 10 : 12}px system-ui, sans-serif`;
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  let free = AXIS;
  for (const node of rowsInView()) {
    const py = y(node), tall = view.row < 12 ? 10 : 13;
    if (py - tall / 2 < free - 1 || py > view.height) continue;
    const chosen = view.event >= 0 && run.e_node[view.event] === node;
    pen.fillStyle = chosen ? view.colours.past : run.homes[node] ? view.colours.soft : view.colours.ink;
    pen.fillText(run.nodes[node], GUTTER - 10, py, GUTTER - 16);
    free = py + tall / 2;
  }
  pen.textAlign = "left";
  pen.textBaseline = "alphabetic";
}

function drawAxis() {
  pen.fillStyle = view.colours.faint;
  pen.fillRect(0, 0, view.width, AXIS);
  pen.fillStyle = pen.strokeStyle = view.colours.soft;
  pen.font = "11px system-ui, sans-serif";
  pen.fillText("virtual time, s", 8, 17);
  const step = niceStep((view.until - view.since) / ((view.width - GUTTER) / 90));
  pen.lineWidth = 1;
  pen.beginPath();
  for (let time = Math.max(0, Math.ceil(view.since / step) * step); time <= view.until; time += step) {
    const px = Math.round(x(time)) + 0.5;
    if (px < GUTTER) continue;
    pen.moveTo(px, AXIS - 6);
    pen.lineTo(px, AXIS);
    pen.fillText(ticked(time, step), px + 3, 17);
  }
  pen.stroke();
}

function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 5, 10].find(times => times * power >= least);
}

function ticked(time, step) { return time.toFixed(Math.max(0, Math.min(9, -Math.floor(Math.log10(step) + 1e-9)))); }

const overview = document.getElementById("overview");

function drawOverview(run) {
  const ratio = devicePixelRatio || 1, wide = overview.clientWidth, tall = overview.clientHeight, brush = overview.getContext("2d");
  overview.width = wide * ratio;
  overview.height = tall * ratio;
  brush.setTransform(ratio, 0, 0, ratio, 0, 0);
  const room = wide - GUTTER - 8, place = time => GUTTER + time / span(run) * room;
  const most = Math.max(...run.histogram);
  brush.fillStyle = view.colours.heat;
  run.histogram.forEach((count, bin) => {
    const high = count ? 2 + (tall - 8) * Math.log(1 + count) / Math.log(1 + most) : 0;
    brush.fillRect(GUTTER + bin / run.histogram.length * room, tall - high, room / run.histogram.length + 0.5, high);
  });
  brush.fillStyle = view.colours.lost;
  for (const a of run.lostArrows) brush.fillRect(place(run.sent[a]), 0, 1, 4);
  for (const [, since, until] of run.down) { brush.globalAlpha = 0.3; brush.fillRect(place(since), 0, Math.max(1, place(Math.min(until, run.end)) - place(since)), tall); brush.globalAlpha = 1; }
  brush.fillStyle = view.colours.soft;
  brush.font = "11px system-ui, sans-serif";
  brush.fillText("the whole run", 8, tall / 2 + 4);
  const left = Math.max(GUTTER, place(view.since)), right = Math.min(wide, place(view.until));
  brush.fillStyle = view.colours.past;
  brush.globalAlpha = 0.16;
  brush.fillRect(left, 0, right - left, tall);
  brush.globalAlpha = 1;
  brush.strokeStyle = view.colours.past;
  brush.strokeRect(left + 0.5, 0.5, Math.max(2, right - left - 1), tall - 1);
}
