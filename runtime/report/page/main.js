// The slider moves everything: the network, the log, the curves.

let run, map, side, items, charts = [], now = 0, playing = null;

function setTime(time) {
  now = Math.min(run.end, Math.max(0, time));
  const slider = $("slider");
  slider.value = run.end > 0 ? 1000 * now / run.end : 1000;
  $("now").textContent = `${run.written(now)} s of ${run.written(run.end)} s`;
  slider.setAttribute("aria-valuetext", `${run.written(now)} seconds`);
  if (map) { map.time = now; map.paint(); }
  side.show(now);
  if (items) items.show(now);
  for (const chart of charts) chart.show(now);
  showMoments();
}

function choose(node) {
  if (map) { map.chosen = node; map.paint(); }
  side.about(node);
}

function play() {
  if (playing !== null) return pause();
  if (now >= run.end) setTime(0);
  let before = null;
  const step = (when) => {
    if (before !== null) setTime(now + (when - before) / 1000 * run.end / Number($("speed").value));
    before = when;
    if (now >= run.end) return pause();
    playing = requestAnimationFrame(step);
  };
  playing = requestAnimationFrame(step);
  $("play").textContent = "pause";
  $("play").setAttribute("aria-pressed", "true");
}

function pause() {
  if (playing !== null) cancelAnimationFrame(playing);
  playing = null;
  $("play").textContent = "play";
  $("play").setAttribute("aria-pressed", "false");
}

function go(step, far) {
  pause();
  setTime(far ? now + step * run.end / 100 : run.next(now, step));
}

let momentRows = [], latestMoment = undefined;
function listMoments() {
  const percent = (time) => `${run.end > 0 ? 100 * time / run.end : 0}%`;
  for (const [since, until] of run.spans) {
    const span = make("u");
    span.style.left = percent(since);
    span.style.width = percent(Math.min(until ?? run.end, run.end) - since);
    $("ticks").append(span);
  }
  for (const [time] of run.moments.slice(0, 500)) {
    const tick = make("i");
    tick.style.left = percent(time);
    $("ticks").append(tick);
  }
  if (!$("moments")) return;
  momentRows = run.moments.slice(0, 1000).map(([time, text]) => {
    const button = make("button", "", make("time", "", run.written(time)), make("span", "", text));
    button.type = "button";
    button.onclick = () => { pause(); setTime(time); };
    return make("li", "", button);
  });
  $("moments").querySelector("ol").append(...momentRows);
}

function showMoments() {
  const latest = lastUpTo(run.moments.map((moment) => moment[0]), now);
  if (latest === latestMoment) return;
  latestMoment = latest;
  momentRows.forEach((row, place) => { row.classList.toggle("past", place <= latest); row.classList.toggle("latest", place === latest); });
}

async function copy() {
  const text = $("command").textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  $("copy").textContent = "copied";
  setTimeout(() => { $("copy").textContent = "copy"; }, 1500);
}

function listen() {
  $("copy").onclick = copy;
  $("play").onclick = play;
  $("back").onclick = () => go(-1);
  $("forth").onclick = () => go(1);
  $("slider").oninput = () => { pause(); setTime($("slider").value / 1000 * run.end); };
  document.addEventListener("keydown", (event) => {
    const writing = event.target.matches("input:not([type=range]):not([type=checkbox]), select, textarea");
    if (writing || event.ctrlKey || event.altKey || event.metaKey) return;
    const pressing = event.target.matches("button");
    const act = {
      ArrowLeft: () => go(-1, event.shiftKey), ArrowRight: () => go(1, event.shiftKey),
      Home: () => { pause(); setTime(0); }, End: () => { pause(); setTime(run.end); },
      " ": pressing ? null : play, Escape: () => choose(-1),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); if (map) map.paint(); });
  if (!map) return;
  $("show-names").onchange = () => { map.names = $("show-names").checked; map.paint(); };
  $("show-attached").onchange = () => { map.guests = $("show-attached").checked; map.paint(); };
  $("show-attached").parentElement.hidden = !run.attached.some(Boolean);
  if (map.kinds.length > 1) map.kinds.forEach((kind, place) => $("kinds").append(make("span", "", shapeKey(SHAPES[place % SHAPES.length]), kind)));
  const layers = $("layers");
  if (!layers) return;
  layers.append(...run.layers.map((layer, place) => new Option(layer.title, place)), new Option("none", -1));
  layers.onchange = () => {
    map.layer = Number(layers.value);
    layers.title = map.layer >= 0 ? run.layers[map.layer].about : "";
    map.paint();
  };
  layers.onchange();
}

async function begin() {
  readColours();
  run = new Run(await unpack());
  side = new Side(run, choose, setTime);
  if ($("map")) map = new NetworkMap(run, choose);
  if ($("items")) items = new Items(run, (item) => { map.item = item; map.paint(); });
  charts = run.curves.map((curve, place) => new Chart(run, curve, place, (time) => { pause(); setTime(time); }));
  $("curves").dataset.count = charts.length;
  $("curves").append(...charts.map((chart) => chart.box));
  listMoments();
  listen();
  setTime(run.end);
}

// For scripts and tests.
window.report = {
  ready: begin(),
  get run() { return run; },
  get map() { return map; },
  get now() { return now; },
  get playing() { return playing !== null; },
  setTime: (time) => setTime(time),
  choose: (name) => choose(run.byName.get(name) ?? -1),
  where: (name) => map.spots[run.byName.get(name)],
  held: (name, time = now) => (run.heldAt(run.byName.get(name), time) || []).map((item) => run.items[item]),
};
