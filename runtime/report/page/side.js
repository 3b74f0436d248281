// The node that is chosen, and the log up to the chosen time.

const ROWS = 200;

class Side {
  constructor(run, choose, setTime) {
    this.run = run;
    this.choose = choose;
    this.setTime = setTime;
    this.node = -1;
    this.time = run.end;
    $("names").append(...run.nodes.slice(0, 3000).map((name) => { const option = make("option"); option.value = name; return option; }));
    $("find").addEventListener("change", () => { const found = run.byName.get($("find").value.trim()); if (found !== undefined) choose(found); });
    $("nobody").onclick = () => choose(-1);
    $("log-kind").append(new Option("all events", ""), ...run.log.map((kind, place) => new Option(`${kind.event} (${kind.count.toLocaleString("en-US")})`, place)));
    $("log-kind").onchange = () => this.filter();
    $("log-filter").oninput = () => this.filter();
    this.filter();
  }

  about(node) {
    this.node = node;
    this.shown = null;
    $("find").value = node < 0 ? "" : this.run.nodes[node];
    $("nobody").hidden = node < 0;
    $("log-title").textContent = node < 0 ? "Log of all nodes" : `Log of ${this.run.nodes[node]}`;
    this.filter();
  }

  // The rows that the filters leave, of all times.
  filter() {
    const kind = $("log-kind").value, words = $("log-filter").value.toLowerCase(), run = this.run;
    this.rows = run.logRows.filter((row) =>
      (this.node < 0 || run.nodeOfRow(row) === this.node) && (kind === "" || row[1] === Number(kind)) &&
      (!words || `${run.log[row[1]].event} ${run.nameOfRow(row)} ${run.fieldsOfRow(row)}`.toLowerCase().includes(words)));
    this.times = this.rows.map((row) => row[0]);
    this.last = undefined;
    this.show(this.time);
  }

  show(time) {
    this.time = time;
    this.describe();
    const last = lastUpTo(this.times, time);
    if (last === this.last) return;
    this.last = last;
    const count = last + 1;
    $("log-count").textContent = this.rows.length ? `${count.toLocaleString("en-US")} of ${this.rows.length.toLocaleString("en-US")} so far` : "";
    const rows = [];
    for (let at = last; at >= 0 && rows.length < ROWS; at--) rows.push(this.row(this.rows[at]));
    if (count > ROWS) rows.push(make("li", "none", `... ${(count - ROWS).toLocaleString("en-US")} earlier`));
    if (!count) rows.push(make("li", "none", this.rows.length ? "nothing yet" : "nothing was logged"));
    $("rows").replaceChildren(...rows);
  }

  row(row) {
    const node = this.run.nodeOfRow(row), name = this.run.nameOfRow(row);
    let who = null;
    if (this.node < 0) {
      who = make("button", "", name);
      who.type = "button";
      if (typeof node === "number") who.onclick = () => this.choose(node);
    }
    const what = make("div", "", who, who ? " " : "", make("b", "", this.run.log[row[1]].event.replaceAll("_", " ")), " ", make("span", "soft", this.run.fieldsOfRow(row)));
    return make("li", "", make("time", "", this.run.written(row[0])), what);
  }

  describe() {
    const { run, node, time } = this;
    if (node < 0) {
      if (this.shown !== "all") $("about").replaceChildren(make("p", "soft", run.count ? "Click a node to see what it holds and what it logged." : "The network is too large to draw."));
      this.shown = "all";
      return;
    }
    const home = run.homeOf(node, time), held = run.heldAt(node, time), text = run.textOf(node, time), down = run.isDown(node, time);
    const key = JSON.stringify([node, home, held, text, down, time >= run.end]);
    if (key === this.shown) return;
    this.shown = key;
    const parts = [make("h3", "", run.nodes[node])];
    const where = run.attached[node] ? home < 0 ? `${run.kinds[node]}, not there` : `${run.kinds[node]} at ${run.nodes[home]}` : run.kinds[node];
    parts.push(make("p", "soft", where, down ? make("span", "is-down", " down") : null));
    if (held !== null) parts.push(make("p", "", `${run.holding} `, ...held.length ? held.slice(0, 200).map((item) => this.chip(item)) : ["nothing"]));
    if (text) parts.push(make("pre", "", text));
    const ends = run.ends[node];
    if (ends) {
      const list = make("dl");
      for (const [label, value] of ends.slice(0, 60)) list.append(make("dt", "", label), make("dd", "", value));
      parts.push(make("h4", "", "In the end"), list);
    }
    $("about").replaceChildren(...parts);
  }

  chip(item) {
    const chip = make("span", "chip", this.run.items[item]);
    if (this.run.items.length <= PALETTE) chip.style.borderLeft = `.4rem solid var(--c${item % PALETTE})`;
    return chip;
  }
}

// What is held somewhere, by how many, and where: one button for each item.
class Items {
  constructor(run, highlight) {
    this.run = run;
    const own = run.items.length <= PALETTE;
    this.counts = run.items.map(() => make("b", ""));
    this.buttons = run.items.slice(0, 300).map((item, place) => {
      const swatch = make("i", "swatch");
      swatch.style.background = `var(--c${place % PALETTE})`;
      const button = make("button", "", own ? swatch : null, item, this.counts[place]);
      button.type = "button";
      button.setAttribute("aria-pressed", "false");
      button.title = "where is it?";
      button.onclick = () => {
        const pressed = button.getAttribute("aria-pressed") !== "true";
        for (const other of this.buttons) other.setAttribute("aria-pressed", "false");
        button.setAttribute("aria-pressed", String(pressed));
        highlight(pressed ? place : -1);
      };
      return button;
    });
    if (!own && run.held.v.some((held) => held.length > 1)) this.buttons[this.liveliest()]?.click();
    $("items").append(make("span", "", run.holding), ...this.buttons, run.items.length > 300 ? "..." : "");
  }

  // Where colours are too few for all items, the one whose number of holders changed most is shown at first.
  liveliest() {
    const first = this.run.holders(0), changes = this.run.holders(this.run.end).map((count, item) => Math.abs(count - first[item]));
    return changes.indexOf(Math.max(...changes));
  }

  show(time) {
    this.run.holders(time).forEach((count, place) => { this.counts[place].textContent = count; });
  }
}
