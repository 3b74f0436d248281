// Looking around on the map and choosing a node.

function lookAround(map) {
  const canvas = map.canvas;
  let from = null, moved = false;
  canvas.addEventListener("pointerdown", (event) => { from = [event.offsetX, event.offsetY, ...map.shift]; moved = false; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = [event.offsetX, event.offsetY];
    if (from && (moved || Math.hypot(x - from[0], y - from[1]) > 4)) {
      moved = true;
      canvas.classList.add("moving");
      map.shift = [from[2] + x - from[0], from[3] + y - from[1]];
      map.paint();
      return;
    }
    const over = map.nodeAt(x, y);
    if (over !== map.over) { map.over = over; canvas.classList.toggle("over", over >= 0); map.paint(); }
    tell(map, over, x, y);
  });
  const over = () => { from = null; canvas.classList.remove("moving"); };
  canvas.addEventListener("pointerup", (event) => { if (from && !moved) map.onChoose(map.nodeAt(event.offsetX, event.offsetY)); over(); });
  canvas.addEventListener("pointercancel", over);
  canvas.addEventListener("pointerleave", () => { map.over = -1; tell(map, -1); map.paint(); });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    map.zoomBy(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
  }, { passive: false });
  $("zoom-in").onclick = () => map.zoomBy(1.6);
  $("zoom-out").onclick = () => map.zoomBy(1 / 1.6);
  $("fit").onclick = () => map.fit();
}

// What is under the pointer.
function tell(map, node, x, y) {
  const tip = $("tip");
  tip.hidden = node < 0;
  if (node < 0) return;
  const held = map.run.heldAt(node, map.time), run = map.run;
  const items = held === null ? "" : `\n${run.holding} ${held.slice(0, 30).map((item) => run.items[item]).join(" ") || "nothing"}${held.length > 30 ? " ..." : ""}`;
  tip.textContent = `${run.nodes[node]} (${run.kinds[node]}${run.isDown(node, map.time) ? ", down" : ""})${items}`;
  tip.style.left = `${Math.min(x + 14, map.width - tip.offsetWidth - 4)}px`;
  tip.style.top = `${Math.min(y + 14, map.height - tip.offsetHeight - 4)}px`;
}
