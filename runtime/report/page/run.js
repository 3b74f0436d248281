// The run as the page knows it: what was so of each node from when on.

async function unpack() {
  const bytes = Uint8Array.from(atob($("data").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

// For each node the times at which something changed and what it was from then on.
function timelines(changes, count) {
  const lines = Array.from({ length: count }, () => null);
  changes.t.forEach((time, row) => {
    const line = lines[changes.n[row]] ??= { t: [], v: [] };
    line.t.push(time);
    line.v.push(changes.v[row]);
  });
  return lines;
}

function valueAt(line, time, otherwise) {
  if (!line) return otherwise;
  const place = lastUpTo(line.t, time);
  return place < 0 ? otherwise : line.v[place];
}

class Run {
  constructor(data) {
    Object.assign(this, data);
    this.count = data.nodes.length;
    this.byName = new Map(data.nodes.map((name, place) => [name, place]));
    this.heldLines = timelines(data.held, this.count);
    this.homeLines = timelines(data.homes, this.count);
    this.textLines = timelines(data.texts, this.count);
    this.downs = Array.from({ length: this.count }, () => null);
    for (const [node, since, until] of data.down) (this.downs[node] ??= []).push([since, until ?? Infinity]);
    this.attached = data.nodes.map((_, node) => data.home[node] >= 0 || this.homeLines[node] !== null);
    this.written = clock(data.end);
    this.readLog();
    const times = new Set([0, data.end, ...data.held.t, ...data.homes.t, ...data.texts.t, ...this.logTimes, ...data.moments.map((moment) => moment[0])]);
    for (const [, since, until] of data.down) { times.add(since); if (until !== null) times.add(until); }
    for (const layer of data.layers) for (const arrow of layer.arrows) times.add(arrow[3]);
    this.times = Float64Array.from(times).filter((time) => time >= 0 && time <= data.end).sort();
  }

  readLog() {
    const rows = [];
    this.log.forEach((kind, place) => kind.t.forEach((time, row) => rows.push([time, place, row])));
    rows.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
    this.logRows = rows;
    this.logTimes = Float64Array.from(rows, (row) => row[0]);
    this.spoke = Array.from({ length: this.count }, () => []);
    for (const [time, place, row] of rows) {
      const node = this.log[place].n[row];
      if (typeof node === "number") this.spoke[node].push(time);
    }
  }

  nodeOfRow([, place, row]) { return this.log[place].n[row]; }
  nameOfRow(row) { const node = this.nodeOfRow(row); return typeof node === "number" ? this.nodes[node] : node; }
  fieldsOfRow([, place, row]) {
    const kind = this.log[place];
    return kind.fields.map((name, column) => `${name} ${number(kind.f[column][row])}`).join(", ");
  }

  heldAt(node, time) { return valueAt(this.heldLines[node], time, null); }
  homeOf(node, time) { return valueAt(this.homeLines[node], time, this.home[node]); }
  textOf(node, time) { return valueAt(this.textLines[node], time, ""); }
  isDown(node, time) { return (this.downs[node] || []).some(([since, until]) => since <= time && time < until); }

  // How many nodes hold each item now.
  holders(time) {
    const counts = new Array(this.items.length).fill(0);
    for (let node = 0; node < this.count; node++) for (const item of this.heldAt(node, time) || []) counts[item]++;
    return counts;
  }

  next(time, step) {
    if (step > 0) { const place = lastUpTo(this.times, time) + 1; return place < this.times.length ? this.times[place] : this.end; }
    let place = lastUpTo(this.times, time);
    if (place >= 0 && this.times[place] >= time) place--;
    return place >= 0 ? this.times[place] : 0;
  }
}
