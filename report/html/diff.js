// SPDX-License-Identifier: MIT
// The page of two profiles: what changed, and by more than chance or not; and the change in the flame graph.

const diff = page.diff || null;
const diffWorth = (value) => (value === null ? "" : worth(diff.cost, value));
const signed = (value, text) => (value > 0 ? "+" : value < 0 ? "−" : "") + text;
const signedPart = (part, digits = 1) => signed(part, (100 * Math.abs(part)).toFixed(digits) + " %");
function changeOf(c) {
  const text = diffWorth(Math.abs(c[2]));
  return /^0[^.\d]/.test(text) ? text : signed(c[2], text);
}

// What a figure is, in one cell: the change, and whether to believe it.
function changeCell(c) {
  if (!c || c[2] === null) return make("td", { class: "number" });
  const word = c[4] ? (c[2] > 0 ? "more" : "less") : "the same";
  return make(
    "td",
    { class: `number ${c[4] ? (c[2] > 0 ? "worse" : "better") : "soft"}` },
    changeOf(c),
    make("small", {}, c[3] > 0 ? ` ± ${diffWorth(c[3])}` : ""),
    make("span", { class: "word" }, word),
  );
}
// A bar that grows to the left of the middle where it is less, to the right where it is more.
function changeBar(c, most) {
  const part = c && c[2] !== null ? Math.min(1, Math.abs(c[2]) / most) : 0;
  const kind = c && c[4] ? (c[2] > 0 ? "worse" : "better") : "unsure";
  return make(
    "td",
    {},
    make(
      "div",
      { class: "track middle", "aria-hidden": "true" },
      make("i", {
        class: kind,
        style: { left: (c && c[2] < 0 ? 50 - 50 * part : 50) + "%", width: 50 * part + "%" },
      }),
    ),
  );
}
function diffTable(id, head, rows, caption) {
  return make(
    "div",
    { class: "scroll", role: "region", tabindex: "0", "aria-label": caption },
    make(
      "table",
      { class: "grid diff", id },
      make(
        "thead",
        {},
        make(
          "tr",
          {},
          head.map((h, i) =>
            h ? make("th", { scope: "col", class: i > 0 && i < 5 ? "number" : "" }, h) : make("td", {}),
          ),
        ),
      ),
      make("tbody", {}, rows),
    ),
  );
}
function diffRow(r, most, place) {
  const status = r.rest ? "" : r.was && !r.is ? "gone" : r.is && !r.was ? "new" : "";
  return make(
    "tr",
    { "data-name": r.function || "" },
    make(
      "th",
      { scope: "row", class: "name" },
      r.rest ? "all others" : place ? `${fileName(r.file || "")}:${r.line}  ${nameOf(r)}` : nameOf(r),
      status ? make("span", { class: "tag" }, status) : "",
    ),
    make("td", { class: "number" }, r.was || r.rest ? diffWorth(r.cost[0]) : ""),
    make("td", { class: "number" }, r.is || r.rest ? diffWorth(r.cost[1]) : ""),
    changeBar(r.cost, most),
    changeCell(r.cost),
    make("td", { class: "soft" }, r.causes.join(", ")),
    place ? null : make("td", { class: "soft short" }, r.module || ""),
  );
}
const nameOf = (r) => r.function || (r.module ? `[unknown] of ${r.module}` : "[unknown]");
const mostOf = (rows) => Math.max(1e-9, ...rows.map((r) => Math.abs((r.cost && r.cost[2]) || 0)));

function diffVerdict() {
  const v = diff.verdict;
  const errors = v.error > 0 ? ` ± ${(100 * v.error).toFixed(1)}` : "";
  const speed =
    v.significant && v.speed
      ? ` It is ${v.speed.toFixed(2)} times as fast${v.speed_low && v.speed_high ? ` (${v.speed_low.toFixed(2)} to ${v.speed_high.toFixed(2)})` : ""}.`
      : "";
  return [
    make(
      "div",
      { class: "finding" },
      make("div", { class: "figure" }, signedPart(v.change).replace(" %", ""), make("small", {}, errors + " %")),
      make(
        "p",
        {},
        make("b", {}, v.significant ? (v.change > 0 ? "slower" : "faster") : "no significant change"),
        `: ${label(diff.cost)} was ${diffWorth(diff.total[0])}, it is ${diffWorth(diff.total[1])}.${speed}`,
      ),
    ),
    v.reasons.length > 0
      ? make(
          "ul",
          { class: "places" },
          v.reasons.map((r) =>
            make(
              "li",
              {},
              make("b", {}, signedPart(r.change) + (r.error > 0 ? ` ± ${(100 * r.error).toFixed(1)}` : "")),
              " of all: ",
              make("span", { class: "code" }, nameOf(r)),
              r.category ? `, ${r.category}` : "",
            ),
          ),
        )
      : null,
  ];
}
function drawDiff() {
  $("diff").hidden = !diff;
  if (!diff) return;
  const order = metrics.map((m) => m.id);
  const rank = (id) => {
    const i = report.tree.findIndex((n) => n.id === id);
    return i < 0 ? 99 + order.indexOf(id) : i;
  };
  const tree = diff.tree
    .filter((n) => n.cost && (n.cost[0] > 0 || n.cost[1] > 0))
    .sort((a, b) => rank(a.id) - rank(b.id));
  // What changed, or what would be seen if it did.
  const worthARow = (r) => r.cost && (r.cost[4] || Math.abs(r.cost[2]) >= Math.max(diff.total[0], diff.total[1]) / 100);
  const more = diff.functions.filter(worthARow);
  const lines = diff.lines.filter(worthARow);
  fill("diff-title", `Compared with ${diff.old_name}`);
  fill(
    "diff-body",
    diffVerdict(),
    tree.length > 0
      ? diffTable(
          "diff-tree",
          ["Category", "before", "now", "", "change", "What it means"],
          tree.map((n) =>
            make(
              "tr",
              { "data-id": n.id },
              make(
                "th",
                { scope: "row", class: "l" + byId.get(n.id).level },
                button(n.id, () => choose(n.id, "flame"), { class: "plainly" }),
              ),
              make("td", { class: "number" }, diffWorth(n.cost[0])),
              make("td", { class: "number" }, diffWorth(n.cost[1])),
              changeBar(n.cost, mostOf(tree)),
              changeCell(n.cost),
              make("td", { class: "soft" }, byId.get(n.id).meaning),
            ),
          ),
          "Categories before and now",
        )
      : null,
    make("h3", {}, "Functions"),
    more.length > 0
      ? diffTable(
          "diff-functions",
          ["function", "before", "now", "", "change", "mostly", "module"],
          more.slice(0, 25).map((r) => diffRow(r, mostOf(more), false)),
          "Functions before and now",
        )
      : make("p", { class: "note" }, "No function changed by more than chance, or by a hundredth of all."),
    lines.length > 0
      ? [
          make("h3", {}, "Lines"),
          diffTable(
            "diff-lines",
            ["line", "before", "now", "", "change", "mostly"],
            lines.slice(0, 15).map((r) => diffRow(r, mostOf(lines), true)),
            "Lines before and now",
          ),
        ]
      : null,
    make(
      "p",
      { class: "note" },
      "“The same” is a change that is no more than two recordings of one program differ by",
      diff.assumed ? " (assumed, because each side is one recording)." : ".",
    ),
    diff.lines_by_distance
      ? make("p", { class: "note" }, "Lines are found again by their distance from the beginning of their function.")
      : null,
    diff.notes.map((n) => make("p", { class: "note" }, sentence(n))),
  );
}

// ---- The change of a stack: the old profile's stacks are found again by their names.

let oldSums = null;
function oldBelow(id) {
  if (!oldSums) {
    const tree = treeOf(diff.stacks);
    const own = decode(diff.stacks.values, tree.parents.length, diff.metrics);
    const names = new Map(); // path to node
    const key = (parent, frame) => {
      const [name, module] = frame < 0 ? [String(frame), -1] : diff.stacks.frames[frame];
      return `${parent}\n${name}\n${module >= 0 ? diff.modules[module][0] : module}`;
    };
    for (let i = 1; i < tree.parents.length; i++) names.set(key(tree.parents[i], diff.stacks.nodes[i]), i);
    const match = new Int32Array(stackCount).fill(-1);
    match[0] = 0;
    for (let i = 1; i < stackCount; i++) {
      const frame = page.stacks.nodes[i];
      const [name, module] = frame < 0 ? [String(frame), -1] : page.stacks.frames[frame];
      const found =
        match[parentOf[i]] < 0
          ? undefined
          : names.get(`${match[parentOf[i]]}\n${name}\n${module >= 0 ? moduleName(module) : module}`);
      match[i] = found === undefined ? -1 : found;
    }
    oldSums = { own, parents: tree.parents, match, below: {} };
  }
  if (!oldSums.below[id])
    oldSums.below[id] = sumsOf(oldSums.own[id] || new Float64Array(oldSums.parents.length), oldSums.parents);
  return oldSums.below[id];
}
// Null where the old profile's smallest stacks were put together: it may be one of them.
function before(id, i) {
  const all = oldBelow(id);
  if (oldSums.match[i] >= 0) return all[oldSums.match[i]];
  return diff.stacks.left_out > 0 ? null : 0;
}
const beforeWords = (i) => {
  const was = before(state.metric, i);
  const small = "too small to be on this page, or not there";
  return `Before: ${was === null ? small : worth(state.metric, was)}. Now: ${worth(state.metric, withBelow(state.metric)[i])}.`;
};
// From -2 (gone) to 2 (new, or twice as much): how much a frame changed, of what it was or is.
function changeStep(i) {
  const now = withBelow(state.metric)[i],
    was = before(state.metric, i);
  if (was === null) return 0;
  const part = (now - was) / (Math.max(now, was) || 1);
  return Math.abs(part) < 0.03 ? 0 : Math.sign(part) * (Math.abs(part) < 0.25 ? 1 : 2);
}
