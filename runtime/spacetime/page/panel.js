// Beside the picture: the chosen event, and the filters.

function make(tag, attributes = {}, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made && name !== "list") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...inside.filter(part => part !== null));
  return made;
}

function seconds(time) { return `${Number(time.toPrecision(8)).toLocaleString("en", { maximumFractionDigits: 9 })} s`; }

function kindOf(run, e) { return run.kinds[run.e_kind[e]]; }

function titleOf(run, e) {
  const what = text(run, run.e_what[e]), kind = kindOf(run, e);
  const words = { start: "starts", crash: "crashes", recover: "recovers", hint: what, timer: `timer ${what}`, message: what };
  return `${run.nodes[run.e_node[e]]}: ${words[kind]}`;
}

function eventLink(run, e, words) {
  return make("a", { role: "button", tabIndex: 0, onclick: () => choose(run, e), onkeydown: key => { if (key.key === "Enter") choose(run, e); } }, words ?? `${titleOf(run, e)} (#${run.e_number[e]})`);
}

function showChosen(run) {
  const box = document.getElementById("chosen");
  if (view.event < 0) {
    box.replaceChildren(make("p", { className: "hint" }, "Click a point or an arrow: its message, what it changed, what had to happen before and what followed are shown here."));
    return;
  }
  const e = view.event, arrow = view.arrow >= 0 ? view.arrow : run.e_arrow[e], own = run.e_arrow[e] === arrow;
  const parts = [make("h3", {}, own || arrow < 0 ? titleOf(run, e) : `${run.nodes[run.a_source[arrow]]} sends ${run.types[run.a_type[arrow]]}`)];
  const number = kindOf(run, e) === "start" ? "start" : `event #${run.e_number[e]}`;
  parts.push(make("p", { className: "hint" }, `${number} at ${seconds(run.begun[e])}`));
  parts.push(scope(run));
  if (arrow >= 0) parts.push(...aboutArrow(run, arrow));
  parts.push(...aboutChanges(run, e), ...aboutSends(run, e));
  box.replaceChildren(...parts);
  box.scrollTop = 0;
}

function scope(run) {
  let past = 0, future = 0;
  for (const mark of view.marks) { past += mark === 1; future += mark === 2; }
  const tick = (name, words) => make("label", { className: name }, make("input", { type: "checkbox", checked: view[name], onchange: event => { view[name] = event.target.checked; refresh(run); } }), ` ${words}`);
  return make("div", { className: "scope" }, tick("past", `${past.toLocaleString("en")} before it`), tick("future", `${future.toLocaleString("en")} after it`), tick("alone", "hide all others"));
}

function aboutArrow(run, a) {
  const timer = run.a_flags[a] & TIMER, fate = run.fates[run.a_fate[a]], rows = [];
  const row = (name, value) => rows.push(make("tr", {}, make("td", {}, name), make("td", {}, value)));
  if (!timer) row("from, to", `${run.nodes[run.a_source[a]]} → ${run.nodes[run.a_target[a]]}${run.a_flags[a] & UNDERLAY ? ", past the overlay" : ""}${run.a_flags[a] & COPY ? ", second copy" : ""}`);
  row(timer ? "set" : "sent", `${seconds(run.sent[a])}`);
  if (!isNaN(run.arrival[a])) row(timer ? "due" : "arrived", `${seconds(run.arrival[a])}, after ${seconds(run.arrival[a] - run.sent[a])}`);
  if (run.a_size[a]) row("size", `${run.a_size[a]} bytes`);
  if (run.a_cause[a] >= 0) row(timer ? "set in" : "sent in", eventLink(run, run.a_cause[a]));
  const told = [];
  if (fate[0] !== "arrived") told.push(make("p", { className: run.lost[a] ? "bad" : "hint" }, fate[1]));
  if (run.a_late[a]) told.push(make("p", { className: "slow" }, `late: ${text(run, run.a_late[a])}`));
  const fields = fieldsOf(run, a).map(([name, value]) => make("tr", {}, make("td", {}, name), make("td", {}, value)));
  return [...told, make("table", {}, ...rows), make("h4", {}, `fields of ${run.types[run.a_type[a]]}`), fields.length ? make("table", { id: "fields" }, ...fields) : make("p", { className: "hint" }, "none")];
}

function aboutChanges(run, e) {
  const parts = [make("h4", {}, `what it changed at ${run.nodes[run.e_node[e]]}`)];
  for (let c = run.e_changes[e]; c < run.e_changes[e + 1]; c++) {
    const was = run.c_before[c], now = run.c_after[c];
    parts.push(make("div", { className: "change" }, make("span", { className: "place" }, text(run, run.c_path[c])), was || now ? ": " : "",
      was ? make("span", { className: "was" }, text(run, was)) : "", was && now ? " → " : "", now ? make("span", { className: "is" }, text(run, now)) : was ? " (gone)" : ""));
  }
  if (run.e_changes[e] === run.e_changes[e + 1]) parts.push(make("p", { className: "hint" }, run.e_noticed[e] ? "nothing" : "nothing: the node was down"));
  if (run.e_logs[e] < run.e_logs[e + 1]) parts.push(make("h4", {}, "what it logged"));
  for (let l = run.e_logs[e]; l < run.e_logs[e + 1]; l++) parts.push(make("div", {}, text(run, run.l_text[l])));
  return parts;
}

function aboutSends(run, e) {
  const sends = sendsOf(run, e);
  if (!sends.length) return [];
  return [make("h4", {}, "what it sent"), ...sends.slice(0, 100).map(a => {
    const words = `${run.a_flags[a] & TIMER ? "timer" : "→ " + run.nodes[run.a_target[a]]} ${run.types[run.a_type[a]]}`, fate = run.fates[run.a_fate[a]];
    const about = fate[0] === "arrived" ? null : make("span", { className: run.lost[a] ? "bad" : "hint" }, ` ${fate[1]}`);
    return make("div", {}, run.a_effect[a] >= 0 ? eventLink(run, run.a_effect[a], words) : words, about);
  }), sends.length > 100 ? make("p", { className: "hint" }, `and ${sends.length - 100} more`) : ""];
}

const MOST_LINES = 400;

function filterList(run, id, names, wanted, decorate, changed) {
  const section = document.getElementById(id), list = section.querySelector("ul"), search = section.querySelector("input");
  const matching = () => { const asked = search.value.trim().toLowerCase(); return names.map((name, place) => place).filter(place => names[place].toLowerCase().includes(asked)); };
  const fill = () => {
    const found = matching();
    list.replaceChildren(...found.slice(0, MOST_LINES).map(place => make("li", {},
      make("label", { title: names[place] }, make("input", { type: "checkbox", checked: Boolean(wanted()[place]), "data-name": names[place], onchange: event => { wanted()[place] = event.target.checked; changed(); } }), ...decorate(place)),
      make("button", { title: `show only ${names[place]}`, onclick: () => { wanted().fill(0); wanted()[place] = 1; fill(); changed(); } }, "only"))),
    ...(found.length > MOST_LINES ? [make("li", { className: "hint" }, `and ${found.length - MOST_LINES} more: search`)] : found.length ? [] : [make("li", { className: "hint" }, "nothing has such a name")]));
  };
  search.addEventListener("input", fill);
  for (const button of section.querySelectorAll("[data-do]"))
    button.addEventListener("click", () => { for (const place of matching()) wanted()[place] = button.dataset.do === "all"; fill(); changed(); });
  return fill;
}

function buildFilters(run) {
  const types = filterList(run, "types", run.types, () => view.types, type => [
    make("span", { className: "swatch", style: `background:${typeColour(type)}` }), run.types[type],
    make("span", { className: "count" }, `${run.counts[type].toLocaleString("en")}${run.timerType[type] ? " timer" : ""}`)], () => refresh(run));
  const nodes = filterList(run, "nodes", run.nodes, () => view.nodes, node => [
    make("span", { className: run.homes[node] ? "attached" : "" }, run.nodes[node]),
    make("span", { className: "count" }, run.homes[node] ? `at ${run.homes[node]}` : "")], () => { setRows(run); fitRows(); refresh(run); });
  return () => { types(); nodes(); };
}
