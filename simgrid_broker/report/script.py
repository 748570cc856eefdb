"""The script of a page: values under the pointer, series to fade, tables to sort and filter.

Without it a page shows the same pictures and tables. It reads curves from the paths of the pictures, so that data are
in a page once, and writes texts only as text. Why it is no library: docs/results.md, "The report".
"""

from base64 import b64encode
from hashlib import sha256

SCRIPT = """
"use strict";
const NUMBER = new Intl.NumberFormat("en", {maximumSignificantDigits: 3});
const SVG = "http://www.w3.org/2000/svg";
const make = (tag, parent, text, kind) => {
  const one = document.createElement(tag);
  one.textContent = text || "";
  if (kind) one.className = kind;
  parent.append(one);
  return one;
};

// Tables: a click on a head sorts, another reverses, a third restores the order; long tables have a filter.
document.querySelectorAll("table").forEach(table => {
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  if (rows.length < 3) return;
  const value = (row, k, isNumber) => {
    const text = row.cells[k].textContent;
    return isNumber ? parseFloat(text.replace(/,/g, "").replace("\\u2212", "-").replace("\\u221e", "Infinity")) : text;
  };
  const sort = (head, k) => {
    const isNumber = head.classList.contains("n"), now = head.getAttribute("aria-sort");
    const first = isNumber ? "descending" : "ascending", second = isNumber ? "ascending" : "descending";
    const next = now === first ? second : now === second ? "none" : first, sign = next === "ascending" ? 1 : -1;
    heads.forEach(each => each.removeAttribute("aria-sort"));
    if (next !== "none") head.setAttribute("aria-sort", next);
    const order = next === "none" ? rows : [...rows].sort((a, b) => {
      const one = value(a, k, isNumber), other = value(b, k, isNumber);
      if (!isNumber) return sign * one.localeCompare(other);
      return isNaN(one) ? isNaN(other) ? 0 : 1 : isNaN(other) ? -1 : sign * (one - other);
    });
    body.append(...order);
  };
  heads.forEach((head, k) => {
    head.tabIndex = 0;
    head.title = "Sort";
    head.addEventListener("click", () => sort(head, k));
    head.addEventListener("keydown", event => { if (event.key === "Enter") sort(head, k); });
  });
  if (rows.length < 8) return;
  const field = document.createElement("input");
  Object.assign(field, {type: "search", placeholder: `Filter ${rows.length} rows`, className: "filter"});
  field.setAttribute("aria-label", field.placeholder);
  field.addEventListener("input", () => {
    const wanted = field.value.toLowerCase();
    rows.forEach(row => { row.hidden = !row.textContent.toLowerCase().includes(wanted); });
  });
  table.parentElement.before(field);
});

// Pictures: values under the pointer, one line at that time in all of them.
const points = path => {
  const lines = [];
  let at = [0, 0], letter = "", line = [];
  const steps = path.getAttribute("d").match(/[A-Za-z]|-?\\d+/g);
  for (let k = 0; k < steps.length;) {
    if (/[A-Za-z]/.test(steps[k])) letter = steps[k++];
    if (letter === "z") { line.push(line[0]); at = line[0]; letter = ""; continue; }
    const next = () => Number(steps[k++]);
    if (letter === "M") { line = []; lines.push(line); at = [next(), next()]; }
    else if (letter === "l") at = [at[0] + next(), at[1] + next()];
    else if (letter === "h") at = [at[0] + next(), at[1]];
    else if (letter === "v") at = [at[0], at[1] + next()];
    else return [];
    line.push(at);
  }
  return lines;
};
const crossings = (lines, x) => {
  const found = [];
  for (const line of lines) for (let k = 1; k < line.length; k++) {
    const [a, b] = line[k - 1], [c, d] = line[k];
    if (Math.min(a, c) > x || Math.max(a, c) < x) continue;
    found.push(a === c ? d : b + (d - b) * (x - a) / (c - a));
  }
  return found;
};
const all = [...document.querySelectorAll("svg.plot [data-axes]")].map(group => {
  const [left, right, bottom, top, first, last, low, high] = group.dataset.axes.split(" ").map(Number);
  return {group, left, right, bottom, top, first, last, low, high};
});
const series = axes => axes.series ||= [...axes.group.querySelectorAll("g[data-n]")].flatMap(one => {
  const paths = [...one.querySelectorAll("path")];
  return paths.length ? [{name: one.dataset.n, colour: paths[0].getAttribute("fill") || paths[0].getAttribute("stroke"),
    isArea: paths[0].hasAttribute("fill"), lines: paths.flatMap(points), one}] : [];
});
const clock = seconds => {
  const minutes = Math.round(seconds / 60), days = Math.floor(minutes / 1440);
  return `${days ? `day ${days}, ` : ""}${Math.floor(minutes % 1440 / 60)} h ${minutes % 60} min`;
};
const tip = make("div", document.body, "", "tip");
tip.hidden = true;
const lineOf = axes => {
  if (!axes.line) {
    axes.line = document.createElementNS(SVG, "line");
    axes.line.setAttribute("class", "cursor");
    axes.group.append(axes.line);
  }
  return axes.line;
};
const showTime = time => all.forEach(axes => {
  const isShown = time !== null && time >= axes.first && time <= axes.last;
  if (!isShown) { if (axes.line) axes.line.style.display = "none"; return; }
  const line = lineOf(axes), x = axes.left + (axes.right - axes.left) * (time - axes.first) / (axes.last - axes.first);
  for (const [name, at] of Object.entries({x1: x, x2: x, y1: axes.top, y2: axes.bottom})) line.setAttribute(name, at);
  line.style.display = "";
});
const show = (event, axes, x) => {
  const time = axes.first + (axes.last - axes.first) * (x - axes.left) / (axes.right - axes.left);
  const scale = (axes.high - axes.low) / (axes.bottom - axes.top);
  showTime(time);
  tip.replaceChildren();
  make("b", tip, clock(time));
  for (const {name, colour, isArea, lines, one} of [...series(axes)].reverse()) {
    const at = crossings(lines, x);
    if (!at.length || one.classList.contains("off")) continue;
    if (at[0] < axes.top) { make("div", tip, name); continue; }            // an incident, above the axes
    const value = isArea ? (Math.max(...at) - Math.min(...at)) * scale : axes.low + (axes.bottom - at[0]) * scale;
    if (isArea && value < 0.002 * (axes.high - axes.low)) continue;
    const row = make("div", tip, `${name}: ${NUMBER.format(value)}`);
    row.style.borderLeftColor = colour;
  }
  tip.hidden = false;
  tip.style.left = `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
  tip.style.top = `${Math.max(Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8), 4)}px`;
};
document.querySelectorAll("svg.plot").forEach(picture => {
  picture.querySelectorAll("title").forEach(title => { if (title.closest("[data-axes]")) title.remove(); });
  const own = all.filter(axes => picture.contains(axes.group));
  picture.addEventListener("pointermove", event => {
    const {x, y} = new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());
    const axes = own.find(each => x >= each.left && x <= each.right && y >= each.top && y <= each.bottom);
    if (axes) show(event, axes, x); else { tip.hidden = true; showTime(null); }
  });
  picture.addEventListener("pointerleave", () => { tip.hidden = true; showTime(null); });
  picture.addEventListener("click", event => {                       // a name fades its series, or brings it back
    const name = event.target.closest("text")?.closest("[data-n]")?.dataset.n;
    if (name !== undefined) picture.querySelectorAll("[data-n]").forEach(one => {
      if (one.dataset.n === name) one.classList.toggle("off");
    });
  });
  const large = make("button", picture.closest("figure").querySelector("figcaption"), "Larger", "larger");
  large.addEventListener("click", () => {
    large.textContent = picture.closest("figure").classList.toggle("large") ? "Smaller" : "Larger";
  });
});
"""

POLICY = ("default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
          f"script-src 'sha256-{b64encode(sha256(SCRIPT.encode()).digest()).decode()}'")
"""Content-Security-Policy of a page: this script alone runs, and nothing is loaded."""
