// SPDX-License-Identifier: MIT
// The table of functions.

const costIndex = (id) => costs.findIndex((m) => m.id === id);
const slotsIndex = costIndex("slots");
// A cell is the value rows are sorted by, null where nothing is known.
const nodeShare = (f, id) => (f.shares ? (f.shares[nodes.findIndex((m) => m.id === id)] ?? null) : null);
const nodeError = (f, id) => (f.errors ? (f.errors[nodes.findIndex((m) => m.id === id)] ?? null) : null);
const primaryShare = (f) => f.costs[costIndex(page.primary)] / (byId.get(page.primary).total || 1);
function lostShare(f) {
  const share = nodeShare(f, state.metric);
  return share === null ? null : (share * f.costs[slotsIndex]) / slotsTotal;
}
function bar(share, kind) {
  return [
    percent(share).replace(" %", ""),
    make(
      "span",
      { class: "track", "aria-hidden": "true" },
      make("i", { class: "cause c-" + kind, style: { width: 100 * Math.min(1, share) + "%" } }),
    ),
  ];
}
const kindOfFunction = (f) => {
  let best = "none",
    most = 0;
  for (const id of causes) {
    const share = nodeShare(f, id) || 0;
    if (share > most) [best, most] = [id, share];
  }
  return hasNodes ? best : moduleKind(f.module);
};
function heat(share, id, error) {
  if (share === null) return "";
  const depth = Math.round(8 + 30 * Math.min(1, share));
  return make(
    "span",
    {
      class: share >= 0.02 ? "warmth" : "soft",
      title: `${id} ${percent(share)}${error ? plusMinus(error) + " %" : ""}`,
      style: share >= 0.02 ? { background: `color-mix(in oklab, var(--${causeOf(id)}) ${depth}%, transparent)` } : {},
    },
    share < 0.01 ? (share > 0 ? "<1" : "") : (100 * share).toFixed(0),
  );
}
function columns() {
  const list = [
    {
      key: "share",
      name: `% of ${label(page.primary)}`,
      number: true,
      value: primaryShare,
      show: (f) => bar(primaryShare(f), kindOfFunction(f)),
      class: "share",
    },
  ];
  const chosen = byId.get(state.metric).level > 0;
  if (chosen)
    list.unshift({
      key: "lost",
      name: `% lost to ${state.metric}`,
      number: true,
      value: lostShare,
      class: "share",
      show: (f) => (lostShare(f) === null ? "" : bar(lostShare(f), causeOf(state.metric))),
    });
  if (page.functions.some((f) => f.error > 0)) {
    list.push({
      key: "error",
      name: "±",
      number: true,
      value: (f) => f.error,
      show: (f) => (f.error > 0 ? (100 * f.error).toFixed(1) : ""),
      class: "soft",
    });
  }
  for (const [i, m] of costs.entries()) {
    if (m.id === "slots" || (m.id === "samples" && hasNodes)) continue;
    list.push({
      key: m.id,
      name: m.id === "event" ? m.name : m.id,
      number: true,
      value: (f) => f.costs[i],
      show: (f) => (m.id === "time" ? seconds(f.costs[i] * 1e-9) : amount(f.costs[i])),
    });
  }
  for (const m of nodesOf(state.level)) {
    list.push({
      key: m.id,
      name: m.name,
      full: `${m.id}: ${m.meaning}; % of the function's slots`,
      number: true,
      value: (f) => nodeShare(f, m.id),
      show: (f) => heat(nodeShare(f, m.id), m.id, nodeError(f, m.id)),
      class: "heat",
    });
  }
  list.push({
    key: "name",
    name: "function",
    value: (f) => visible(shownName(f)),
    class: "name",
    show: (f) => (hasSource(f) ? button(f.name, () => openSource(f), { class: "plainly" }) : shownName(f)),
  });
  list.push({
    key: "module",
    name: "module",
    value: (f) => visible(moduleName(f.module)),
    show: (f) => moduleName(f.module),
    class: "short",
  });
  if (page.functions.some((f) => f.file)) {
    list.push({
      key: "place",
      name: "defined at",
      class: "short",
      value: (f) => (f.file ? fileName(f.file) : null),
      show: (f) => (f.file ? make("span", { title: f.file }, fileName(f.file) + (f.line ? ":" + f.line : "")) : ""),
    });
  }
  return list;
}
function sorted(list) {
  const column = list.find((c) => c.key === state.sort.key) || list.find((c) => c.key === "share");
  const sign = state.sort.down ? -1 : 1;
  const rows = page.functions.filter((f) => !state.query || matches(f.name, moduleName(f.module), f.file));
  const keyed = rows.map((f, i) => [column.value(f), i, f]);
  keyed.sort(([a, i], [b, k]) => {
    if (a === null || b === null) return a === b ? i - k : a === null ? 1 : -1; // what is not known stands last
    const order = typeof a === "string" ? a.localeCompare(b) : a - b;
    return order * sign || i - k;
  });
  return keyed.map((k) => k[2]);
}
function sortBy(column) {
  const same = state.sort.key === column.key;
  state.sort = { key: column.key, down: same ? !state.sort.down : Boolean(column.number) };
  drawFunctions();
  const head = document.querySelector(`[data-key="${CSS.escape(column.key)}"] button`);
  if (head) head.focus();
}
// What a chosen category has in functions of which too little is known to say so.
function lostNowhere() {
  const m = byId.get(state.metric);
  if (!m.level) return "";
  const known = page.functions.reduce((sum, f) => sum + (lostShare(f) || 0), 0) * slotsTotal;
  return m.total > 0 && 1 - known / m.total >= 0.01
    ? `${percent(1 - known / m.total)} of ${m.id} has no row here: it is in functions of which too little is known, or that are small. `
    : "";
}
function drawFunctions() {
  const levels = [0, 1, 2, 3].filter((level) =>
    level === 0 ? hasNodes && causes.some((id) => byId.get(id).level > 1) : nodesOf(level).length > 0,
  );
  if (!levels.includes(state.level)) state.level = levels[0] || 0;
  const list = columns(),
    rows = sorted(list);
  const some = state.all ? rows : rows.slice(0, ROWS_SHOWN);
  const head = list.map((c) =>
    make(
      "th",
      {
        scope: "col",
        "data-key": c.key,
        class: c.number ? "number" : "",
        title: c.full,
        "aria-sort": state.sort.key === c.key ? (state.sort.down ? "descending" : "ascending") : null,
      },
      button(c.name + (state.sort.key === c.key ? (state.sort.down ? " ▾" : " ▴") : ""), () => sortBy(c)),
    ),
  );
  const total = page.functions.length + page.other_functions.count;
  const rest = page.other_functions.costs[costIndex(page.primary)] / (byId.get(page.primary).total || 1);
  fill("functions-title", "Functions");
  fill(
    "functions-body",
    levels.length > 1
      ? make(
          "div",
          { class: "tools", role: "group", "aria-label": "Columns of categories" },
          "Categories: ",
          levels.map((level) =>
            button(
              level ? `level ${level}` : "main causes",
              () => {
                state.level = level;
                drawFunctions();
                drawSource();
                $("level-" + level).focus();
              },
              { id: "level-" + level, "aria-pressed": state.level === level ? "true" : "false" },
            ),
          ),
        )
      : null,
    make(
      "div",
      {
        class: "scroll" + (state.all ? " tall" : ""),
        role: "region",
        tabindex: "0",
        "aria-label": "Table of functions",
      },
      make(
        "table",
        { class: "grid", id: "function-table" },
        make("thead", {}, make("tr", {}, head)),
        make(
          "tbody",
          {},
          some.map((f) =>
            make(
              "tr",
              {},
              list.map((c) => make("td", { class: `${c.number ? "number " : ""}${c.class || ""}` }, c.show(f))),
            ),
          ),
        ),
      ),
    ),
    make(
      "p",
      { class: "note", id: "function-count" },
      `${count(some.length)} of ${count(total)} functions. `,
      page.other_functions.count > 0
        ? `${count(page.other_functions.count)} small ones, ${percent(rest, 2)} together, are not on this page. `
        : "",
      lostNowhere(),
      hasNodes ? "Categories are per cent of the function's own slots; a blank cell: too little is known. " : "",
      some.length < rows.length
        ? button(
            `Show all ${count(rows.length)}`,
            () => {
              state.all = true;
              drawFunctions();
            },
            { class: "plainly", id: "all-functions" },
          )
        : "",
    ),
  );
}
