// SPDX-License-Identifier: MIT
// The page of tdreport html reads its data (an object as of tdreport --json, with "page" beside) and draws it. Text from the
// profile reaches the page as text nodes alone. Nothing is loaded, stored or sent. scripts/embed_page.cmake puts the files
// together, in one function.

const report = JSON.parse(document.getElementById("data").textContent);
const page = report.page;
const metrics = page.metrics;
const byId = new Map(metrics.map((m) => [m.id, m]));
const costs = metrics.filter((m) => !m.level);
const nodes = metrics.filter((m) => m.level);
const hasNodes = nodes.length > 0 && byId.has("slots") && byId.get("slots").total > 0;
const hasTime = byId.has("time");
const FRAMES_MAX = 3000; // elements of the flame graph at one time
const ROW = 20; // pixels of one of its rows
const ROWS_SHOWN = 25;

const state = {
  metric: page.primary,
  query: "",
  zoom: 0,
  focus: 0,
  up: true,
  level: 0,
  sort: { key: "share", down: true },
  all: false,
  source: 0,
  assembly: false,
  step: -1,
};

// ---- Text and elements

// What steers a terminal or turns the direction of text around is shown, not obeyed.
const ODD = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const visible = (text) => String(text).replace(ODD, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));

// An element. Keys of `set` are attributes, but for: class, text, on (listeners), style (of CSSOM).
function make(tag, set, ...inside) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(set || {})) {
    if (key === "class") e.className = value;
    else if (key === "text") e.append(visible(value));
    else if (key === "on") for (const [name, call] of Object.entries(value)) e.addEventListener(name, call);
    else if (key === "style") for (const [name, v] of Object.entries(value)) e.style.setProperty(name, v);
    else if (value !== null && value !== undefined && value !== false) e.setAttribute(key, visible(value));
  }
  for (const child of inside.flat()) {
    if (child !== null && child !== undefined && child !== "") e.append(child instanceof Node ? child : visible(child));
  }
  return e;
}
const $ = (id) => document.getElementById(id);
const fill = (id, ...inside) => $(id).replaceChildren(...inside.flat().filter(Boolean));
const button = (text, click, set) => make("button", { type: "button", on: { click }, ...set }, text);

// ---- Numbers

const percent = (share, digits = 1) => (100 * share).toFixed(digits) + " %";
const count = (n) => Math.round(n).toLocaleString("en-US");
function seconds(s) {
  if (s === 0) return "0 s";
  for (const [unit, one] of [
    ["s", 1],
    ["ms", 1e-3],
    ["µs", 1e-6],
  ]) {
    if (Math.abs(s) >= one) return (s / one).toPrecision(s / one >= 100 ? 4 : 3) + " " + unit;
  }
  return (s * 1e9).toFixed(0) + " ns";
}
function amount(n) {
  for (const [unit, one] of [
    ["T", 1e12],
    ["G", 1e9],
    ["M", 1e6],
    ["k", 1e3],
  ]) {
    if (n >= one) return (n / one >= 99.95 ? (n / one).toFixed(0) : (n / one).toPrecision(3)) + " " + unit;
  }
  return count(n);
}
const plusMinus = (error) => (error >= 0.0005 ? " ± " + (100 * error).toFixed(1) : "");
const slotsTotal = hasNodes ? byId.get("slots").total : 0;
const secondsOfSlots = (slots) => (page.categorized_ns * 1e-9 * slots) / slotsTotal;
function worth(id, value) {
  if (id === "time") return seconds(value * 1e-9);
  if (id === "event") return amount(value) + " " + byId.get("event").name;
  if (id === "samples") return count(value) + (value === 1 ? " sample" : " samples");
  const time = page.categorized_ns > 0 ? ", " + seconds(secondsOfSlots(value)) : "";
  return amount(value) + (page.modelled ? " modelled" : "") + " slots" + time;
}
const label = (id) => {
  if (id === "time") return page.modelled && !page.hybrid ? "modelled time" : "time";
  if (id === "slots") return page.modelled ? "modelled slots" : "slots";
  return id === "event" ? byId.get("event").name : id;
};
const shownName = (f) =>
  f.name === "[unknown]" && f.module !== undefined ? `[unknown] of ${moduleName(f.module)}` : f.name;
const moduleName = (index) => (index >= 0 && page.modules[index] ? page.modules[index][0] : "");
const fileName = (path) => path.slice(path.lastIndexOf("/") + 1);

// ---- Causes: what colours stand for

// The first level of the tree, but what waits behind the front end apart by memory and core.
function findCauses() {
  const causes = [];
  for (const node of nodes.filter((m) => m.level === 1)) {
    const parts = nodes.filter((m) => m.parent === node.id && m.total > 0);
    if (node.id === "backend_bound" && parts.length > 0) causes.push(...parts.map((m) => m.id));
    else if (node.total > 0) causes.push(node.id);
  }
  return causes;
}
const causes = hasNodes ? findCauses() : [];
// Columns of a table: the causes, or one level of the tree.
const nodesOf = (level) =>
  level === 0 ? causes.map((id) => byId.get(id)) : nodes.filter((m) => m.level === level && m.total > 0);
// Without causes: the modules that take most.
const moduleRank = new Map();
function rankModules() {
  const sums = new Map();
  for (const f of page.functions) {
    const i = costs.findIndex((m) => m.id === page.primary);
    if (f.module !== undefined) sums.set(f.module, (sums.get(f.module) || 0) + f.costs[i]);
  }
  [...sums]
    .sort((a, b) => b[1] - a[1])
    .slice(0, 5)
    .forEach(([module], rank) => moduleRank.set(module, rank));
}
rankModules();
// What frames may be coloured by, the first one at the begin.
const colours = [hasNodes ? "cause" : "", page.diff ? "change" : "", "module"].filter(Boolean);
state.colour = colours[0];
const swatch = (kind) => make("span", { class: "swatch cause c-" + kind });
const CHANGES = [
  ["change-2", "less by a quarter or more, or gone"],
  ["change-1", "less"],
  ["change0", "the same, within 3 %"],
  ["change1", "more"],
  ["change2", "more by a quarter or more, or new"],
];
function legend() {
  const items = {
    cause: () => [...causes.map((id) => [id, id]), ["none", "most of it has no known category"]],
    module: () => [
      ...[...moduleRank].map(([module, rank]) => ["m" + rank, moduleName(module)]),
      ["none", "other modules"],
    ],
    change: () => CHANGES,
  }[state.colour]();
  return items.map(([kind, name]) => make("li", {}, swatch(kind), name));
}
