// Script of a page: tables to sort and filter, pictures over time to look into, and the address of what is shown.
// Without it a page has the same pictures and tables. Curves are read from the paths of the pictures, so that data are
// in a page once; texts are written as text only.
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

// The address: a part of the page, then the time shown and the order and filter of a table: #data?time=0-7200.
const [part, rest] = location.hash.slice(1).split("?");
const shown = new URLSearchParams(rest);
const keep = (place, values) => {
  for (const [key, value] of Object.entries(values)) if (value) shown.set(key, value); else shown.delete(key);
  const query = shown.toString();
  history.replaceState(null, "", `#${place}${query && "?"}${query}`);
};

// Tables: a click on a head sorts, another reverses, a third restores the order; those of eight rows have a filter.
document.querySelectorAll("table").forEach(table => {
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  const place = table.closest("[id]")?.id || "";
  if (rows.length < 3) return;
  const value = (row, k, isNumber) => {
    const text = row.cells[k].textContent;
    return isNumber ? parseFloat(text.replace(/,/g, "").replace("\u2212", "-").replace("\u221e", "Infinity")) : text;
  };
  const order = (k, next) => {
    const isNumber = heads[k].classList.contains("n"), sign = next === "ascending" ? 1 : -1;
    heads.forEach(each => each.removeAttribute("aria-sort"));
    if (next !== "none") heads[k].setAttribute("aria-sort", next);
    body.append(...next === "none" ? rows : [...rows].sort((a, b) => {
      const one = value(a, k, isNumber), other = value(b, k, isNumber);
      if (!isNumber) return sign * one.localeCompare(other);
      return isNaN(one) ? isNaN(other) ? 0 : 1 : isNaN(other) ? -1 : sign * (one - other);
    }));
  };
  const sort = (head, k) => {
    const now = head.getAttribute("aria-sort"), isNumber = head.classList.contains("n");
    const first = isNumber ? "descending" : "ascending", second = isNumber ? "ascending" : "descending";
    const next = now === first ? second : now === second ? "none" : first;
    order(k, next);
    keep(place, {sort: next !== "none" && `${k} ${next}`});
  };
  heads.forEach((head, k) => {
    head.tabIndex = 0;
    head.title = "Sort";
    head.addEventListener("click", () => sort(head, k));
    head.addEventListener("keydown", event => { if (event.key === "Enter") sort(head, k); });
  });
  const [column, direction] = place === part ? shown.get("sort")?.split(" ") || [] : [];
  if (heads[column] && /^(a|de)scending$/.test(direction)) order(Number(column), direction);
  if (rows.length < 8) return;
  const field = make("input", table.parentElement, "", "filter");
  Object.assign(field, {type: "search", placeholder: `Filter ${rows.length} rows`});
  field.setAttribute("aria-label", field.placeholder);
  const filter = () => {
    const wanted = field.value.toLowerCase();
    rows.forEach(row => { row.hidden = !row.textContent.toLowerCase().includes(wanted); });
  };
  field.addEventListener("input", () => { filter(); keep(place, {filter: field.value}); });
  table.parentElement.before(field);
  if (place === part && shown.get("filter")) { field.value = shown.get("filter"); filter(); }
  addEventListener("hashchange", () => {                                // a link leads to a row that the filter hides
    const row = document.getElementById(decodeURI(location.hash.slice(1)))
      || document.getElementById(location.hash.slice(1));
    if (row?.hidden && body.contains(row)) { field.value = ""; filter(); row.scrollIntoView({block: "center"}); }
  });
});

// Pictures over time: uPlot lies over each, for the moment under the pointer, the values there and the choice of a time.
const points = path => {
  const lines = [];
  let at = [0, 0], letter = "", line = [];
  const steps = path.getAttribute("d").match(/[A-Za-z]|-?\d+/g);
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
// Values of a curve, or of the thickness of an area, at some places; null where it is not, 0 for an incident.
const values = (one, places, {top, bottom, low, high}) => {
  const paths = [...one.querySelectorAll("path")], lines = paths.flatMap(points);
  const scale = (high - low) / (bottom - top), isArea = paths[0].hasAttribute("fill");
  return places.map(x => {
    const at = crossings(lines, x), most = Math.max(...at), least = Math.min(...at);
    if (!at.length) return null;
    if (least > bottom + 1) return 0;
    const value = isArea ? (most - least) * scale : low + (bottom - at[0]) * scale;
    return isArea && value < 0.002 * (high - low) ? null : value;
  });
};
const clock = seconds => {
  const minutes = Math.round(seconds / 60), days = Math.floor(minutes / 1440);
  return `${days ? `day ${days}, ` : ""}${Math.floor(minutes % 1440 / 60)} h ${minutes % 60} min`;
};
const HOURS = [1 / 60, 1 / 12, 1 / 6, 0.5, 1, 2, 3, 6, 12, 24, 48, 120, 240].map(hours => 3600 * hours);
const tick = seconds => seconds % 3600 ? clock(seconds).replace("day ", "d ") : `${NUMBER.format(seconds / 3600)} h`;
const charts = [];
const limits = axes => view || [axes.first, axes.last];
let view = null;

// One time for all pictures: what moves with time is stretched within the sides of the axes.
const stretch = ({axes, chart, moving}) => {
  const {left, right, first, last} = axes, [from, to] = limits(axes), factor = (last - first) / (to - from);
  const start = left + (right - left) * (from - first) / (last - first);
  moving.setAttribute("transform", `matrix(${factor} 0 0 1 ${left - factor * start} 0)`);
  moving.querySelectorAll("path[stroke]").forEach(path => {          // lines keep their width
    const pixels = name => path.getAttribute(name)?.replace(/[\d.]+/g, value => value * chart.scale);
    path.style.strokeWidth = view ? pixels("stroke-width") : "";
    path.style.strokeDasharray = view && pixels("stroke-dasharray") || "";
  });
  chart.setScale("x", {min: from, max: to});
};
const look = (time, place) => {
  view = time;
  document.body.classList.toggle("zoomed", Boolean(time));
  charts.forEach(stretch);
  if (place) keep(place, {time: time && time.map(Math.round).join("-")});
};
const options = (axes, series, picture, tip) => ({
  width: 100, height: 100, padding: [0, 0, 0, 0], series,
  scales: {x: {time: false, range: () => limits(axes)}, y: {range: [axes.low, axes.high]}},
  legend: {mount: (_, legend) => tip.append(legend), markers: {width: 0}},
  cursor: {y: false, points: {show: false}, drag: {setScale: false},
    bind: {dblclick: () => () => look(null, picture.id)},
    sync: {key: "time", scales: ["x", null], filters: {pub: type => type === "mousemove" || type === "mouseleave"}}},
  axes: [{show: axes.isNamed, size: 40, incrs: HOURS, values: (_, ticks) => ticks.map(tick), grid: {show: false},
    stroke: () => getComputedStyle(document.body).color, ticks: {size: 4, width: 1}}, {show: false}],
  hooks: {
    setSelect: [chart => {
      const {left, width} = chart.select;
      if (width > 4) look([chart.posToVal(left, "x"), chart.posToVal(left + width, "x")], picture.id);
      chart.setSelect({left: 0, width: 0}, false);
    }],
    setLegend: [chart => chart.legend.values.forEach((value, k) => {
      const row = tip.querySelectorAll(".u-series")[k];
      row.hidden = value._ === undefined || value._ === "" || chart.series[k].off;
    })],
    setCursor: [({cursor, over}) => {
      const box = over.getBoundingClientRect(), x = box.left + cursor.left + 14, y = box.top + cursor.top + 14;
      tip.style.left = `${Math.min(x, innerWidth - tip.offsetWidth - 8)}px`;
      tip.style.top = `${Math.max(Math.min(y, innerHeight - tip.offsetHeight - 8), 4)}px`;
    }],
  },
});
// What moves with time, in a group of its own between the sides of the axes.
const movingPart = (axes, number) => {
  const {group, left, right} = axes, svg = group.ownerSVGElement;
  const create = (tag, parent, attributes) => {
    const one = document.createElementNS(SVG, tag);
    Object.entries(attributes).forEach(([name, value]) => one.setAttribute(name, value));
    parent.append(one);
    return one;
  };
  const clip = create("clipPath", svg, {id: `${svg.id}-sides-${number}`});
  create("rect", clip, {x: left, width: right - left, y: 0, height: svg.viewBox.baseVal.height});
  const parts = [...group.querySelectorAll("g[data-n], g[data-moves]")].filter(one => one.querySelector("path"));
  const sides = create("g", group, {"clip-path": `url(#${clip.id})`}), moving = create("g", sides, {class: "moving"});
  parts[0]?.before(sides);
  moving.append(...parts);
  return moving;
};
const chartOf = (axes, number, picture) => {
  const moving = movingPart(axes, number), named = [...moving.querySelectorAll("g[data-n]")].reverse();
  const span = axes.right - axes.left, seconds = (axes.last - axes.first) / span;
  const places = [...new Set(named.flatMap(one => [...one.querySelectorAll("path")].flatMap(points).flat()
    .map(([x]) => x)))].filter(x => x >= axes.left && x <= axes.right).sort((a, b) => a - b);
  const time = x => axes.first + seconds * (x - axes.left);
  const data = [places.map(time), ...named.map(one => axes.isValues ? values(one, places, axes) : places.map(() => null))];
  const tip = make("div", document.body, "", "tip"), box = make("div", picture.parentElement, "", "chart");
  const series = [{label: "time", value: (_, at) => at === null ? "" : clock(at)}, ...named.map((one, k) => {
    const path = one.querySelector("path"), colour = path.getAttribute("fill") || path.getAttribute("stroke");
    return {label: one.dataset.n, paths: () => null, points: {show: false}, fill: colour, stroke: colour,
      value: (_, at) => at === null ? "" : at === 0 && data[k + 1].every(each => !each) ? " " : NUMBER.format(at)};
  })];
  const chart = new uPlot(options(axes, series, picture, tip), data, box);
  box.addEventListener("pointerenter", () => tip.classList.add("on"));
  box.addEventListener("pointerleave", () => tip.classList.remove("on"));
  const fit = () => {
    const scale = chart.scale = picture.clientWidth / picture.viewBox.baseVal.width;
    box.style.left = `${axes.left * scale}px`;
    box.style.top = `${axes.top * scale}px`;
    chart.setSize({width: span * scale, height: (axes.bottom - axes.top) * scale + (axes.isNamed ? 40 : 0)});
    stretch(one);
  };
  const one = {axes, chart, moving, named};
  fit();
  new ResizeObserver(fit).observe(picture);
  return one;
};
const open = picture => [...picture.querySelectorAll("[data-axes]")].forEach((group, number) => {
  const [left, right, bottom, top, first, last, low, high] = group.dataset.axes.split(" ").map(Number);
  const isNamed = Boolean(group.querySelector("[data-scale] text"));
  charts.push(chartOf({group, left, right, bottom, top, first, last, low, high, isNamed, isValues: !isNaN(low)},
    number, picture));
});
const near = new IntersectionObserver(entries => entries.filter(entry => entry.isIntersecting).forEach(({target}) => {
  near.unobserve(target);
  open(target);
}), {rootMargin: "300px"});
document.querySelectorAll("svg.plot").forEach(picture => {
  if (picture.querySelector("[data-axes]")) near.observe(picture);
  picture.querySelectorAll("title").forEach(title => title.remove());
  const note = make("p", picture.closest("figure") || picture.parentElement, "", "reading");
  note.hidden = true;
  picture.addEventListener("click", event => {                       // a name hides its series, or brings it back
    const name = event.target.closest("text")?.closest("[data-n]")?.dataset.n;
    if (name === undefined) return;
    picture.querySelectorAll("[data-n]").forEach(one => { if (one.dataset.n === name) one.classList.toggle("off"); });
    charts.forEach(({chart, named}) => named.forEach((one, k) => {
      chart.series[k + 1].off = one.classList.contains("off");
    }));
    const off = [...new Set([...picture.querySelectorAll(".off")].map(one => one.dataset.n))];
    note.hidden = !off.length;
    note.textContent = `Hidden: ${off.join(", ")}. The picture is drawn once, also for pages without scripts, so that `
      + "layers above a hidden one keep their places and the axis its range.";
  });
});
const asked = shown.get("time")?.split("-").map(Number);
if (asked?.length === 2 && asked[1] > asked[0]) look(asked);
if (part && rest) document.getElementById(part)?.scrollIntoView();
const whole = make("button", document.body, "Whole time", "whole");
whole.addEventListener("click", () => look(null, location.hash.slice(1).split("?")[0] || "answers"));
