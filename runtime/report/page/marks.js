// What is drawn on the map: shapes, pies, arrows, labels.

const SHAPES = ["circle", "square", "triangle", "diamond", "hexagon"];

function outline(pen, shape, x, y, r) {
  pen.beginPath();
  if (shape === "circle") pen.arc(x, y, r, 0, 7);
  else if (shape === "square") pen.rect(x - r * .88, y - r * .88, r * 1.76, r * 1.76);
  else {
    const [corners, begin] = { triangle: [3, -Math.PI / 2], diamond: [4, -Math.PI / 2], hexagon: [6, 0] }[shape];
    for (let corner = 0; corner < corners; corner++) {
      const angle = begin + corner * 2 * Math.PI / corners;
      pen.lineTo(x + 1.15 * r * Math.cos(angle), y + 1.15 * r * Math.sin(angle));
    }
    pen.closePath();
  }
}

function shapeKey(shape) {
  const points = { square: "1,1 11,1 11,11 1,11", triangle: "6,0 12,11 0,11", diamond: "6,0 12,6 6,12 0,6", hexagon: "12,6 9,11 3,11 0,6 3,1 9,1" };
  const style = "fill: var(--node); stroke: var(--rim); stroke-width: 1.2";
  const mark = shape === "circle" ? draw("circle", { cx: 6, cy: 6, r: 5.4, style }) : draw("polygon", { points: points[shape], style });
  return draw("svg", { width: 12, height: 12, "aria-hidden": "true" }, mark);
}

// A shape filled with one colour, or like a pie with several.
function filled(pen, shape, x, y, r, fills) {
  outline(pen, shape, x, y, r);
  if (fills.length < 2) {
    pen.fillStyle = fills[0];
    pen.fill();
    return;
  }
  pen.save();
  pen.clip();
  fills.forEach((fill, place) => {
    const part = 2 * Math.PI / fills.length;
    pen.beginPath();
    pen.moveTo(x, y);
    pen.arc(x, y, 2 * r, place * part - Math.PI / 2, (place + 1) * part - Math.PI / 2);
    pen.fillStyle = fill;
    pen.fill();
  });
  pen.restore();
  outline(pen, shape, x, y, r);
}

function cross(pen, x, y, r) {
  pen.beginPath();
  pen.moveTo(x - r, y - r); pen.lineTo(x + r, y + r);
  pen.moveTo(x + r, y - r); pen.lineTo(x - r, y + r);
  pen.strokeStyle = colours.bad;
  pen.lineWidth = Math.max(2, r / 4);
  pen.stroke();
}

// A slightly bent arrow between the rims of two nodes; gives the place of its label.
function arrow(pen, [ax, ay], [bx, by], from, to, head) {
  const length = Math.hypot(bx - ax, by - ay) || 1, ux = (bx - ax) / length, uy = (by - ay) / length;
  if (length < from + to + head * .6) return null;
  const bend = Math.min(18, length * .12), mx = (ax + bx) / 2 - uy * bend, my = (ay + by) / 2 + ux * bend;
  const leave = Math.atan2(my - ay, mx - ax), arrive = Math.atan2(by - my, bx - mx);
  const sx = ax + from * Math.cos(leave), sy = ay + from * Math.sin(leave);
  const ex = bx - to * Math.cos(arrive), ey = by - to * Math.sin(arrive);
  pen.beginPath(); pen.moveTo(sx, sy); pen.quadraticCurveTo(mx, my, ex - head / 2 * Math.cos(arrive), ey - head / 2 * Math.sin(arrive)); pen.stroke();
  pen.beginPath();
  pen.moveTo(ex, ey);
  for (const side of [2.7, -2.7]) pen.lineTo(ex + head * Math.cos(arrive + side), ey + head * Math.sin(arrive + side));
  pen.fill();
  return [(ax + bx) / 2 - uy * bend * .5, (ay + by) / 2 + ux * bend * .5];
}

// Boxes that are taken, so that no two labels lie over each other.
class Room {
  constructor() { this.cells = new Map(); }
  cellsOf([x, y, w, h]) {
    const keys = [];
    for (let i = Math.floor(x / 64); i <= Math.floor((x + w) / 64); i++)
      for (let j = Math.floor(y / 32); j <= Math.floor((y + h) / 32); j++) keys.push(i * 100003 + j);
    return keys;
  }
  isFree(box, owner) {
    const [x, y, w, h] = box;
    return this.cellsOf(box).every((key) => (this.cells.get(key) || []).every(([[a, b, c, d], who]) => who === owner || x >= a + c || a >= x + w || y >= b + d || b >= y + h));
  }
  take(box, owner) {
    for (const key of this.cellsOf(box)) {
      if (!this.cells.has(key)) this.cells.set(key, []);
      this.cells.get(key).push([box, owner]);
    }
  }
}

function haloed(pen, text, x, y, colour) {
  pen.lineWidth = 3.5;
  pen.lineJoin = "round";
  pen.strokeStyle = colours.paper;
  pen.strokeText(text, x, y);
  pen.fillStyle = colour;
  pen.fillText(text, x, y);
}
