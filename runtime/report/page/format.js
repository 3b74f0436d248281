// Small helpers: elements, numbers, colours.

const $ = (id) => document.getElementById(id);

function make(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function draw(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function number(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return value.toLocaleString("en-US");
  const size = Math.abs(value);
  if (size >= 1e6 || (size < 1e-3 && size > 0)) return value.toPrecision(4);
  const digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : 4;
  return value.toLocaleString("en-US", { maximumFractionDigits: digits });
}

// Times on one page have the same number of digits, so that they stand in columns.
function clock(end) {
  const digits = end >= 10000 ? 1 : end >= 100 ? 2 : end >= 1 ? 3 : 6;
  return (time) => time.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

// The last place in a sorted array whose value is not above this one; -1 if there is none.
function lastUpTo(sorted, value) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle + 1; else high = middle;
  }
  return low - 1;
}

// The colours of the page, read anew when the reader's scheme changes.
const colours = {};
function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["paper", "ink", "soft", "line", "edge", "accent", "bad", "warn", "node", "rim", "low", "high", "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9"])
    colours[name] = style.getPropertyValue("--" + name).trim();
}
const PALETTE = 10;
const ofItem = (place) => colours["c" + (place % PALETTE)];

function mixed(from, to, share) {
  const parts = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const [a, b] = [parts(from), parts(to)];
  return `rgb(${a.map((value, place) => Math.round(value + (b[place] - value) * share)).join(",")})`;
}
