// The network at one time.

const FEW = 400;  // so many names are tried at once
const STRETCH = 1.7;
const PIE = 6;

class NetworkMap {
  constructor(run, chosen) {
    this.run = run;
    this.canvas = $("map");
    this.pen = this.canvas.getContext("2d");
    this.time = run.end;
    this.zoom = 1;
    this.shift = [0, 0];
    this.chosen = -1;
    this.over = -1;
    this.item = -1;
    this.layer = run.layers.length ? 0 : -1;
    this.names = true;
    this.guests = true;
    this.onChoose = chosen;
    this.kinds = run.sorts;
    this.shape = run.kinds.map((kind) => SHAPES[run.sorts.indexOf(kind) % SHAPES.length]);
    this.small = run.attached;
    this.painted = new Map(run.painted);
    this.longest = run.heldLines.map((line) => line ? Math.max(...line.v.map((held) => this.itemsText(held).length)) : 0);
    this.order = run.nodes.map((_, node) => node).sort((a, b) => brokersLast(run, a, b));
    this.peers = Array.from({ length: run.count }, () => []);
    for (let at = 0; at < run.edges.length; at += 2) {
      this.peers[run.edges[at]].push(run.edges[at + 1]);
      this.peers[run.edges[at + 1]].push(run.edges[at]);
    }
    lookAround(this);
    new ResizeObserver(() => this.resize()).observe($("map-box"));
    this.resize();
  }

  resize() {
    const box = $("map-box").getBoundingClientRect(), scale = window.devicePixelRatio || 1;
    this.width = box.width;
    this.height = box.height;
    this.canvas.width = Math.max(1, Math.round(box.width * scale));
    this.canvas.height = Math.max(1, Math.round(box.height * scale));
    this.scale = scale;
    this.measure();
    this.paint();
  }

  // How the places of the run become places on the canvas.
  measure() {
    const run = this.run, xs = run.x.filter((x) => x !== null), ys = run.y.filter((y) => y !== null);
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const brokers = run.attached.filter((guest) => !guest).length, guests = run.count - brokers;
    const ringed = run.attached.some((guest, node) => guest && run.x[node] === null);
    const area = this.width * this.height / Math.max(1, brokers * (ringed ? 3 : 1.6));
    this.radius = Math.max(2.2, Math.min(18, Math.sqrt(area) * .14));
    const each = ringed ? Infinity : Math.sqrt(this.width * this.height / Math.max(1, guests)) * .12;
    this.least = Math.max(guests <= 200 ? 4 : 1.8, Math.min(this.radius * .62, 8, each));
    const pad = this.radius + 26 + (ringed ? 4 * this.least : 0);
    const [w, h] = [Math.max(20, this.width - 2 * pad - (ringed ? 40 : 10)), Math.max(20, this.height - 2 * pad)];
    const [sx, sy] = [w / ((right - left) || 1e-9), h / ((bottom - top) || 1e-9)];
    const both = Math.min(sx, sy), most = run.given ? 1 : STRETCH;
    this.unit = [Math.min(sx, both * most), Math.min(sy, both * most)];
    this.middle = [(left + right) / 2, (top + bottom) / 2];
  }

  at(x, y) {
    return [
      this.width / 2 + this.shift[0] + (x - this.middle[0]) * this.unit[0] * this.zoom,
      this.height / 2 + this.shift[1] + (y - this.middle[1]) * this.unit[1] * this.zoom,
    ];
  }

  // Where every node is now; who is attached sits around its broker, on the side where there is room.
  settle() {
    const run = this.run, grow = Math.min(2.2, Math.sqrt(this.zoom));
    this.r = this.radius * grow;
    this.g = this.least * grow;
    this.spots = new Array(run.count).fill(null);
    const around = new Map();
    for (let node = 0; node < run.count; node++) {
      const home = run.attached[node] ? run.homeOf(node, this.time) : -1;
      if (run.attached[node] && (home < 0 || !this.guests)) continue;
      if (run.x[node] !== null) this.spots[node] = this.at(run.x[node], run.y[node]);
      else if (home >= 0) around.has(home) ? around.get(home).push(node) : around.set(home, [node]);
    }
    for (const [home, guests] of around) if (this.spots[home]) this.ring(home, guests);
  }

  ring(home, guests) {
    const [x, y] = this.spots[home], gap = 2.5 * this.g;
    let [dx, dy] = [0, 0];
    for (const peer of this.peers[home]) if (this.spots[peer]) {
      const [px, py] = this.spots[peer], far = Math.hypot(px - x, py - y) || 1;
      dx -= (px - x) / far;
      dy -= (py - y) / far;
    }
    const free = Math.hypot(dx, dy) > .2 ? Math.atan2(dy, dx) : -Math.PI / 2;
    let place = 0;
    for (let ring = 0; place < guests.length; ring++) {
      const radius = this.r + this.g * 2.1 + ring * gap, room = Math.max(1, Math.floor(2 * Math.PI * radius / gap));
      const here = Math.min(room, guests.length - place), step = Math.min(2 * Math.PI / here, gap * 1.15 / radius);
      for (let turn = 0; turn < here; turn++) {
        const angle = free + (turn - (here - 1) / 2) * step;
        this.spots[guests[place++]] = [x + radius * Math.cos(angle), y + radius * Math.sin(angle)];
      }
    }
  }

  itemsText(held) {
    if (!held || !held.length || !this.run.lettered) return "";
    const text = held.map((item) => this.run.items[item]).join(" ");
    if (text.length <= 16) return text;
    return this.run.count <= 40 ? `${held.length} of ${this.run.items.length}` : "";
  }

  fills(node) {
    if (this.painted.has(node)) return [ofItem(this.painted.get(node))];
    const held = this.run.heldAt(node, this.time);
    if (held === null) return [colours.node];
    if (this.item >= 0) return [held.includes(this.item) ? ofItem(this.run.items.length <= PALETTE ? this.item : 0) : colours.paper];
    if (!held.length) return [colours.paper];
    if (held.length === 1 || (this.run.items.length <= PALETTE && held.length <= PIE)) return held.map(ofItem);
    return [mixed(colours.low, colours.high, held.length / this.run.items.length)];
  }

  paint() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.paintNow(); });
  }

  paintNow() {
    const pen = this.pen, run = this.run;
    pen.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
    this.settle();
    this.paintLinks(pen);
    this.lettered = this.layer >= 0 ? this.paintArrows(pen, run.layers[this.layer]) : [];
    this.shown = this.order.filter((node) => this.isVisible(node));
    for (const node of this.shown) this.paintNode(pen, node);
    this.paintNames(pen);
  }

  isVisible(node) {
    if (!this.spots[node]) return false;
    const [x, y] = this.spots[node];
    return x > -40 && y > -40 && x < this.width + 40 && y < this.height + 40;
  }

  paintLinks(pen) {
    const run = this.run, many = run.edges.length > 4000, time = this.time;
    pen.strokeStyle = colours.edge;
    pen.lineWidth = many ? .5 : run.edges.length > 400 ? 1 : 1.4;
    pen.globalAlpha = many ? .6 : 1;
    pen.beginPath();
    for (let at = 0; at < run.edges.length; at += 2) {
      pen.moveTo(...this.spots[run.edges[at]]);
      pen.lineTo(...this.spots[run.edges[at + 1]]);
    }
    pen.stroke();
    pen.globalAlpha = .8;
    pen.lineWidth = .8;
    for (let node = 0; node < run.count; node++) {
      const home = run.attached[node] && this.spots[node] ? run.homeOf(node, time) : -1;
      if (home < 0 || !this.spots[home]) continue;
      pen.strokeStyle = run.x[node] !== null && this.painted.has(home) ? this.fills(home)[0] : colours.edge;
      pen.beginPath(); pen.moveTo(...this.spots[node]); pen.lineTo(...this.spots[home]); pen.stroke();
    }
    pen.globalAlpha = 1;
    pen.strokeStyle = colours.bad;
    pen.lineWidth = 1.6;
    pen.setLineDash([4, 4]);
    pen.beginPath();
    for (const [a, b, since, until] of run.cuts)
      if (since <= time && time < (until ?? Infinity) && this.spots[a] && this.spots[b]) { pen.moveTo(...this.spots[a]); pen.lineTo(...this.spots[b]); }
    pen.stroke();
    pen.setLineDash([]);
  }

  size(node) { return this.small[node] ? this.g : this.r; }

  paintArrows(pen, layer) {
    const labels = new Map();
    const there = layer.arrows.filter(([a, b, , since, until]) => since <= this.time && this.time <= (until ?? Infinity) && this.isVisible(a) && this.isVisible(b));
    const many = there.length > FEW;
    pen.strokeStyle = pen.fillStyle = colours.accent;
    pen.lineWidth = many ? .8 : 2;
    pen.globalAlpha = many ? .7 : 1;
    for (const [a, b, label] of there) {
      const middle = arrow(pen, this.spots[a], this.spots[b], this.size(a) + 1, this.size(b) + (many ? 1 : 2), many ? 4.5 : 9);
      if (middle && label && !many) labels.set(`${a} ${b}`, [middle, label]);
    }
    pen.globalAlpha = 1;
    return [...labels.values()];
  }

  paintNode(pen, node) {
    const [x, y] = this.spots[node], r = this.size(node), down = this.run.isDown(node, this.time);
    const spoke = this.run.spoke[node], place = lastUpTo(spoke, this.time), recent = this.run.end * .015;
    const fresh = place >= 0 && recent > 0 ? 1 - (this.time - spoke[place]) / recent : 0;
    if (fresh > 0) {
      pen.globalAlpha = fresh * .75;
      pen.beginPath(); pen.arc(x, y, r + 3 + 2 * fresh, 0, 7);
      pen.fillStyle = colours.warn;
      pen.fill();
    }
    if (down) filled(pen, this.shape[node], x, y, r, [colours.paper]);
    pen.globalAlpha = down ? .35 : 1;
    filled(pen, this.shape[node], x, y, r, this.fills(node));
    pen.strokeStyle = colours.rim;
    pen.lineWidth = r < 4 ? .6 : 1.2;
    pen.stroke();
    pen.globalAlpha = 1;
    if (down) cross(pen, x, y, Math.max(4, r * .8));
    if (node === this.chosen || node === this.over) {
      pen.beginPath(); pen.arc(x, y, r + 4.5, 0, 7);
      pen.strokeStyle = colours.accent;
      pen.lineWidth = node === this.chosen ? 3 : 1.5;
      pen.stroke();
    }
  }

  paintNames(pen) {
    const room = new Room();
    for (const node of this.shown) {
      const [x, y] = this.spots[node], r = this.size(node);
      if (this.shown.length <= 3 * FEW) room.take([x - r, y - r, 2 * r, 2 * r], node);
    }
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const brokers = this.shown.filter((node) => !this.small[node]);
    const guests = this.shown.filter((node) => this.small[node]);
    const wanted = this.names ? [...brokers.length <= FEW ? brokers : [], ...guests.length <= FEW ? guests : []] : [];
    const first = [this.chosen, this.over].filter((node) => node >= 0 && this.spots[node]);
    for (const node of new Set([...first, ...wanted])) this.paintName(pen, room, node, first.includes(node));
    pen.font = "11px system-ui, sans-serif";
    for (const [[x, y], label] of this.lettered) {
      const width = pen.measureText(label).width + 6;
      if (!room.isFree([x - width / 2, y - 7, width, 14], null)) continue;
      room.take([x - width / 2, y - 7, width, 14], null);
      haloed(pen, label, x, y, colours.accent);
    }
  }

  paintName(pen, room, node, anyway) {
    const [x, y] = this.spots[node], r = this.size(node), small = this.small[node];
    const size = small ? 10 : 12, text = this.itemsText(this.run.heldAt(node, this.time)), name = shortened(this.run.nodes[node]);
    pen.font = `${small ? "" : "600 "}${size}px system-ui, sans-serif`;
    const width = Math.max(pen.measureText(name).width, this.longest[node] * size * .5) + 4;
    const height = (this.longest[node] ? 2 : 1) * (size + 2);
    const off = r + (anyway ? 7 : 3), places = [[x, y + off + height / 2], [x, y - off - height / 2], [x + off + width / 2, y], [x - off - width / 2, y]];
    for (const [dx, dy] of [[1, 1], [-1, 1], [1, -1], [-1, -1]]) places.push([x + dx * (off * .5 + width / 2), y + dy * (off * .7 + height / 2)]);
    const fits = ([a, b]) => a > width / 2 && a < this.width - width / 2 && b > height / 2 && b < this.height - height / 2;
    const found = places.find((place) => fits(place) && room.isFree([place[0] - width / 2, place[1] - height / 2, width, height], node)) || (anyway ? places[0] : null);
    if (!found) return;
    const [a, b] = found;
    room.take([a - width / 2, b - height / 2, width, height], node);
    const above = !text && b < y - r;  // then the name alone is next to its node
    haloed(pen, name, a, this.longest[node] && !(b === y && !text) ? b + (above ? 1 : -1) * (size + 2) / 2 : b, small ? colours.soft : colours.ink);
    if (!text) return;
    pen.font = `${size - 1}px system-ui, sans-serif`;
    haloed(pen, text, a, b + (size + 2) / 2, colours.soft);
  }

  nodeAt(x, y) {
    let best = -1, nearest = Infinity;
    for (const node of this.shown || []) {
      const [a, b] = this.spots[node], far = Math.hypot(a - x, b - y);
      if (far < nearest && far < Math.max(this.size(node) + 4, 8)) { nearest = far; best = node; }
    }
    return best;
  }

  zoomBy(factor, x = this.width / 2, y = this.height / 2) {
    const zoom = Math.min(60, Math.max(.5, this.zoom * factor)), real = zoom / this.zoom;
    this.shift = [x - this.width / 2 - (x - this.width / 2 - this.shift[0]) * real, y - this.height / 2 - (y - this.height / 2 - this.shift[1]) * real];
    this.zoom = zoom;
    this.paint();
  }

  fit() { this.zoom = 1; this.shift = [0, 0]; this.paint(); }
}

// In a small network brokers lie over what is attached to them; in a large one who is attached would be hidden.
function brokersLast(run, a, b) { return (run.count <= FEW ? 1 : -1) * (run.attached[b] - run.attached[a]); }

function shortened(name) { return name.length <= 22 ? name : `${name.slice(0, 20)}…`; }
