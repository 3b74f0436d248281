// The run: columns as they were packed, and who causes what.

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text.trim()), letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  const kinds = { u1: Uint8Array, u4: Uint32Array, i4: Int32Array, f8: Float64Array };
  const run = { ...head };
  let offset = 8 + length;
  for (const [name, kind, count] of head.columns) {
    const width = Number(kind[1]);
    run[name.replace(".", "_")] = together(new Uint8Array(buffer, offset, count * width), width, kinds[kind]);
    offset += Math.ceil(count * width / 8) * 8;
  }
  return connect(run);
}

// First bytes, second bytes, ... were packed apart, since that compresses better.
function together(bytes, width, Kind) {
  const count = bytes.length / width, out = new Uint8Array(bytes.length);
  for (let place = 0; place < width; place++)
    for (let item = 0, from = place * count; item < count; item++) out[item * width + place] = bytes[from + item];
  return new Kind(out.buffer);
}

const TIMER = 1, UNDERLAY = 2, COPY = 4;

function connect(run) {
  const events = run.e_number.length, arrows = run.a_cause.length;
  run.events = events;
  run.arrows = arrows;
  run.begun = Float64Array.from(run.e_arrival, (time, e) => time + run.e_wait[e]);
  run.sent = Float64Array.from(run.a_after, (after, a) => run.a_cause[a] < 0 ? after : run.begun[run.a_cause[a]] + after);
  const apart = run.a_arrival;
  run.arrival = Float64Array.from(run.sent, (sent, a) =>
    run.a_effect[a] >= 0 ? run.e_arrival[run.a_effect[a]] : apart.length ? apart[a] : NaN);
  run.lost = Uint8Array.from(run.a_fate, fate => run.fates[fate][2]);
  run.usual = median(run, 2000);
  run.until = Float64Array.from(run.sent, (sent, a) => isNaN(run.arrival[a]) ? sent + run.usual : run.arrival[a]);
  run.after = new Int32Array(events).fill(-1);
  for (let e = 0; e < events; e++) if (run.e_before[e] >= 0) run.after[run.e_before[e]] = e;
  [run.sendFrom, run.sends] = grouped(run.a_cause, events);
  run.bySent = Uint32Array.from(run.sent.keys()).sort((a, b) => run.sent[a] - run.sent[b]);
  run.byTime = Uint32Array.from(run.begun.keys()).sort((a, b) => run.begun[a] - run.begun[b]);
  run.blocks = blocks(run.bySent, run.until);
  run.down = downs(run);
  run.counts = new Uint32Array(run.types.length);
  run.timerType = new Uint8Array(run.types.length);
  for (let a = 0; a < arrows; a++) {
    if (run.fates[run.a_fate[a]][0] !== "cancelled") run.counts[run.a_type[a]]++;
    if (run.a_flags[a] & TIMER) run.timerType[run.a_type[a]] = 1;
  }
  return run;
}

function median(run, most) {
  const took = [];
  const step = Math.max(1, Math.floor(run.arrows / most));
  for (let a = 0; a < run.arrows; a += step)
    if (!(run.a_flags[a] & TIMER) && run.arrival[a] >= 0) took.push(run.arrival[a] - run.sent[a]);
  took.sort((x, y) => x - y);
  return took.length ? took[took.length >> 1] : (run.end || 1) / 50;
}

// The places of each owner, one owner after the other: those of e are places[from[e]] to places[from[e + 1]].
function grouped(owners, count) {
  const from = new Uint32Array(count + 1);
  for (const owner of owners) if (owner >= 0) from[owner + 1]++;
  for (let e = 0; e < count; e++) from[e + 1] += from[e];
  const places = new Uint32Array(from[count]), next = from.slice();
  owners.forEach((owner, a) => { if (owner >= 0) places[next[owner]++] = a; });
  return [from, places];
}

// For each block of arrows in the order of their sending: the latest end of one.
const BLOCK = 256;
function blocks(order, until) {
  const latest = new Float64Array(Math.ceil(order.length / BLOCK)).fill(-Infinity);
  order.forEach((a, place) => { latest[place / BLOCK | 0] = Math.max(latest[place / BLOCK | 0], until[a]); });
  return latest;
}

function downs(run) {
  const spans = [], open = new Map(), crash = run.kinds.indexOf("crash"), recover = run.kinds.indexOf("recover");
  for (const e of run.byTime) {
    if (run.e_kind[e] === crash && !open.has(run.e_node[e])) open.set(run.e_node[e], run.e_arrival[e]);
    if (run.e_kind[e] === recover && open.has(run.e_node[e])) {
      spans.push([run.e_node[e], open.get(run.e_node[e]), run.e_arrival[e]]);
      open.delete(run.e_node[e]);
    }
  }
  for (const [node, since] of open) spans.push([node, since, Infinity]);
  return spans;
}

// 1: before the event and possibly a cause of it, 2: after it and possibly caused by it, 3: the event itself.
function related(run, event) {
  const marks = new Uint8Array(run.events);
  spread(event, 1, e => {
    const arrow = run.e_arrow[e];
    return [run.e_before[e], arrow >= 0 ? run.a_cause[arrow] : -1];
  });
  spread(event, 2, e => {
    const next = run.e_noticed[e] ? [run.after[e]] : [];
    for (let place = run.sendFrom[e]; place < run.sendFrom[e + 1]; place++) next.push(run.a_effect[run.sends[place]]);
    return next;
  });
  marks[event] = 3;
  return marks;

  function spread(start, mark, neighbours) {
    const waiting = [start];
    while (waiting.length)
      for (const e of neighbours(waiting.pop()))
        if (e >= 0 && !marks[e]) { marks[e] = mark; waiting.push(e); }
  }
}

function sendsOf(run, event) {
  return Array.from(run.sends.subarray(run.sendFrom[event], run.sendFrom[event + 1]));
}

function text(run, place) { return place ? run.strings[place - 1] : ""; }

function fieldsOf(run, arrow) {
  const all = text(run, run.a_fields[arrow]);
  return all ? all.split("\n").map(line => { const at = line.indexOf("="); return [line.slice(0, at), line.slice(at + 1)]; }) : [];
}
