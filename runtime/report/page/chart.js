// Curves over virtual time, with a cursor at the chosen time.

const [LEFT, RIGHT, TOP, BOTTOM] = [58, 10, 8, 20];

function ticksOf(low, high, about) {
  const rough = (high - low) / about || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const ticks = [];
  for (let tick = Math.ceil(low / step - 1e-9) * step; tick <= high + step * 1e-6; tick += step) ticks.push(Math.abs(tick) < step * 1e-6 ? 0 : tick);
  return ticks;
}

class Chart {
  constructor(run, curve, place, setTime) {
    this.run = run;
    this.curve = curve;
    this.setTime = setTime;
    this.time = run.end;
    this.svg = draw("svg", { role: "img", "aria-label": `${curve.title} over virtual time` });
    this.keys = make("p", "keys");
    this.values = curve.lines.map((line, at) => {
      const value = make("b", "");
      const swatch = make("i", "swatch");
      swatch.style.background = `var(--c${at % PALETTE})`;
      this.keys.append(make("span", "", swatch, ` ${line.name} `, value));
      return value;
    });
    const title = make("h2", "", curve.title, make("span", "", curve.unit));
    this.box = make("section", "card curve", title, curve.about ? make("p", "soft", curve.about) : null, this.keys, this.svg);
    this.box.id = `curve-${place}`;
    const pick = (event) => {
      const box = this.svg.getBoundingClientRect(), x = event.clientX - box.left;
      this.setTime(Math.min(1, Math.max(0, (x - LEFT) / (this.width - LEFT - RIGHT))) * run.end);
    };
    this.svg.addEventListener("pointerdown", (event) => { this.svg.setPointerCapture(event.pointerId); pick(event); });
    this.svg.addEventListener("pointermove", (event) => { if (event.buttons) pick(event); });
    new ResizeObserver(() => this.paint()).observe(this.svg);
  }

  range() {
    let [low, high] = [Infinity, -Infinity];
    for (const line of this.curve.lines) for (const value of line.v) if (value !== null) { low = Math.min(low, value); high = Math.max(high, value); }
    if (low > high) return [0, 1];
    if (low >= 0 && low <= high * .6) low = 0;
    if (low === high) return low === 0 ? [0, 1] : [low - Math.abs(low) * .1, high + Math.abs(high) * .1];
    const air = (high - low) * .06;
    return [low === 0 ? 0 : low - air, high + air];
  }

  x(time) { return LEFT + (this.run.end > 0 ? time / this.run.end : 0) * (this.width - LEFT - RIGHT); }
  y(value) { return this.height - BOTTOM - (value - this.low) / (this.high - this.low) * (this.height - TOP - BOTTOM); }

  paint() {
    const box = this.svg.getBoundingClientRect();
    this.width = Math.max(120, box.width);
    this.height = Math.max(80, box.height);
    [this.low, this.high] = this.range();
    const parts = [];
    for (const [since, until, text] of this.run.spans.filter((_, place) => place % 2 === 0)) {
      const shade = draw("rect", { class: "shade", x: this.x(since), y: TOP, width: Math.max(1, this.x(Math.min(until ?? this.run.end, this.run.end)) - this.x(since)), height: this.height - TOP - BOTTOM });
      shade.append(draw("title", {}, text));
      parts.push(shade);
    }
    for (const tick of ticksOf(this.low, this.high, 4)) {
      const y = this.y(tick);
      parts.push(draw("line", { class: "grid", x1: LEFT, x2: this.width - RIGHT, y1: y, y2: y }));
      parts.push(draw("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end" }, number(Number(tick.toPrecision(6)))));
    }
    for (const tick of ticksOf(0, this.run.end || 1, this.width > 420 ? 6 : 4))
      if (this.x(tick) < this.width - RIGHT - 14 || tick === 0) parts.push(draw("text", { x: this.x(tick), y: this.height - 4, "text-anchor": "middle" }, number(Number(tick.toPrecision(6)))));
    parts.push(draw("text", { x: this.width - RIGHT + 4, y: this.height - 4, "text-anchor": "end" }, "s"));
    for (const [time] of this.run.moments.length <= 40 ? this.run.moments : []) parts.push(draw("line", { class: "moment", x1: this.x(time), x2: this.x(time), y1: TOP, y2: this.height - BOTTOM }));
    this.curve.lines.forEach((line, at) => parts.push(draw("path", { class: "line", d: this.path(line), style: `stroke: var(--c${at % PALETTE})` })));
    this.later = draw("rect", { class: "later", y: 0, height: this.height - BOTTOM + 1 });
    this.cursor = draw("line", { class: "cursor", y1: TOP - 4, y2: this.height - BOTTOM });
    this.dots = this.curve.lines.map((_, at) => draw("circle", { r: 3.5, style: `fill: var(--c${at % PALETTE})` }));
    this.svg.replaceChildren(...parts, this.later, this.cursor, ...this.dots);
    this.show(this.time);
  }

  path(line) {
    let path = "", drawing = false, y = 0;
    line.t.forEach((time, at) => {
      const value = line.v[at], x = this.x(time).toFixed(1);
      if (value === null) {
        if (drawing && this.curve.stepped) path += `H${x}`;
        drawing = false;
        return;
      }
      y = this.y(value).toFixed(1);
      path += !drawing ? `M${x} ${y}` : this.curve.stepped ? `H${x}V${y}` : `L${x} ${y}`;
      drawing = true;
    });
    return drawing && this.curve.stepped ? `${path}H${this.x(this.run.end).toFixed(1)}` : path;
  }

  valueAt(line, time) {
    const at = lastUpTo(line.t, time);
    if (at < 0 || line.v[at] === null) return null;
    const next = at + 1;
    if (this.curve.stepped || next >= line.t.length || line.v[next] === null || line.t[next] === line.t[at]) return line.v[at];
    return line.v[at] + (line.v[next] - line.v[at]) * (time - line.t[at]) / (line.t[next] - line.t[at]);
  }

  show(time) {
    this.time = time;
    if (!this.cursor) return;
    const x = this.x(time);
    for (const end of ["x1", "x2"]) this.cursor.setAttribute(end, x);
    this.later.setAttribute("x", x);
    this.later.setAttribute("width", Math.max(0, this.width - RIGHT - x + 2));
    this.curve.lines.forEach((line, at) => {
      const value = this.valueAt(line, time);
      this.values[at].textContent = number(value);
      this.dots[at].setAttribute("visibility", value === null ? "hidden" : "visible");
      if (value !== null) { this.dots[at].setAttribute("cx", x); this.dots[at].setAttribute("cy", this.y(value)); }
    });
  }
}
