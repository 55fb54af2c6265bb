// SPDX-License-Identifier: MIT
// Source lines and instructions of the hot functions.

const sourceOf = (f) =>
  page.sources.findIndex((s) => s.function === f.name && s.module === f.module && s.lines.length > 0);
const assemblyOf = (f) => page.instructions.findIndex((s) => s.function === f.name && s.module === f.module);
const hasSource = (f) => sourceOf(f) >= 0 || assemblyOf(f) >= 0;
function openSource(f, line) {
  state.source = choices.findIndex((c) => c.name === f.name && c.module === f.module);
  state.assembly = sourceOf(f) < 0;
  drawSource();
  $("source").scrollIntoView();
  $("source-choice").focus({ preventScroll: true });
  const row = line && document.querySelector(`#source tr[data-line="${Number(line)}"]`);
  if (row) row.scrollIntoView({ block: "center" });
}
// One choice a function, the dearest first.
const choices = [];
for (const s of [...page.sources, ...page.instructions]) {
  if (s.function && !choices.some((c) => c.name === s.function && c.module === s.module))
    choices.push({ name: s.function, module: s.module });
}
const rankOf = (c) => {
  const i = page.functions.findIndex((f) => f.name === c.name && f.module === c.module);
  return i < 0 ? 1e9 : i;
};
choices.sort((a, b) => rankOf(a) - rankOf(b));
function valuesOf(pairs) {
  const values = {};
  for (let i = 0; pairs && i < pairs.length; i += 2) values[metrics[pairs[i]].id] = pairs[i + 1];
  return values;
}
// Rows of {head, text, values, inlined, gap}: one table for both.
function codeTable(rows, kind) {
  const chosen = byId.get(state.metric).level ? state.metric : null;
  const unit = chosen || page.primary;
  const whole = chosen ? slotsTotal : byId.get(page.primary).total || 1;
  const weigh = (r) => (r.values[unit] || 0) / whole;
  const inlined = rows.some((r) => r.inlined > 0);
  const shownNodes = nodesOf(state.level);
  const most = Math.max(1e-9, ...rows.map(weigh));
  const head = [
    "%",
    inlined ? "inlined" : null,
    ...shownNodes.map((m) => m.name),
    kind === "asm" ? "address" : "line",
    kind === "asm" ? "line" : null,
    kind === "asm" ? "instruction" : "source",
  ];
  return make(
    "div",
    {
      class: "scroll",
      role: "region",
      tabindex: "0",
      "aria-label": kind === "asm" ? "Instructions" : "Source lines",
    },
    make(
      "table",
      { class: "grid lines", id: "code-table" },
      make(
        "thead",
        {},
        make(
          "tr",
          {},
          head
            .filter((h) => h !== null)
            .map((h, i, a) => make("th", { scope: "col", class: i < a.length - 1 ? "number" : "" }, h)),
        ),
      ),
      make(
        "tbody",
        {},
        rows.flatMap((r) => {
          const share = weigh(r),
            slots = r.values.slots || 0;
          return [
            r.gap
              ? make("tr", { class: "gap" }, make("td", { colspan: head.filter((h) => h !== null).length }, ""))
              : null,
            make(
              "tr",
              {
                class: share >= most * 0.999 ? "hot hottest" : share >= most / 10 ? "hot" : "",
                "data-line": kind === "asm" ? null : r.head,
              },
              make(
                "td",
                { class: "number" },
                share >= 0.0005
                  ? make(
                      "span",
                      {
                        style: {
                          background: `color-mix(in oklab, var(${chosen ? "--" + causeOf(chosen) : "--memory_bound"}) ${Math.round(8 + (30 * share) / most)}%, transparent)`,
                        },
                      },
                      (100 * share).toFixed(1),
                    )
                  : "",
              ),
              inlined
                ? make(
                    "td",
                    { class: "number" },
                    r.inlined / whole >= 0.0005 && !chosen ? ((100 * r.inlined) / whole).toFixed(1) : "",
                  )
                : null,
              shownNodes.map((m) =>
                make(
                  "td",
                  { class: "number heat" },
                  slots / slotsTotal >= 0.0005 && m.id in r.values ? heat(r.values[m.id] / slots, m.id) : "",
                ),
              ),
              make(
                "td",
                { class: "number" },
                r.why
                  ? make("a", { href: "#" + r.why, "aria-label": `Line ${r.head}: why it is slow` }, r.head)
                  : r.head,
              ),
              kind === "asm" ? make("td", { class: "number" }, r.line || "") : null,
              make("td", { class: "text" }, r.text),
            ),
          ].filter(Boolean);
        }),
      ),
    ),
  );
}
// Why a line is slow, below the source: the line's number leads there.
const whyId = (s, line) => `why-${page.sources.indexOf(s)}-${line}`;
function whys(s) {
  return (s.whys || []).map(([line, cause, text]) =>
    make("p", { class: "note", id: whyId(s, line), tabindex: "-1" }, make("b", {}, `Line ${line}: ${cause}. `), text),
  );
}
function sourceRows(s) {
  let last = 0;
  const told = new Set((s.whys || []).map(([line]) => line));
  return s.lines.map(([number, text, values, inlined]) => {
    const gap = last > 0 && number !== last + 1;
    last = number;
    return {
      head: number,
      text: text === null ? "" : text,
      values: valuesOf(values),
      inlined: inlined || 0,
      gap,
      why: told.has(number) && whyId(s, number),
    };
  });
}
const asmRows = (s) =>
  s.lines.map(([address, text, line, follows, values], i) => ({
    head: address,
    text,
    line,
    values: valuesOf(values),
    inlined: 0,
    gap: i > 0 && !follows,
  }));
// The file, or where the instructions of an inlined function are.
function heading(s, assembly) {
  const inlined = s.container && s.container !== s.function ? `inlined into ${s.container}` : "";
  const text = assembly ? inlined : s.file || "";
  return text ? make("h3", { class: "code" }, text) : null;
}
function drawSource() {
  if (choices.length === 0) {
    fill(
      "source-body",
      make(
        "p",
        { class: "note" },
        "Neither source lines nor instructions of the hot functions are to be had: see below for what is missing.",
      ),
    );
    return;
  }
  const c = choices[Math.max(0, state.source)];
  const sources = page.sources.filter((s) => s.function === c.name && s.module === c.module);
  const listings = page.instructions.filter((s) => s.function === c.name && s.module === c.module);
  const hasLines = sources.some((s) => s.lines.length > 0);
  const assembly = listings.length > 0 && (state.assembly || !hasLines);
  const show = (value) => () => {
    state.assembly = value;
    drawSource();
    $(value ? "show-asm" : "show-source").focus();
  };
  const f = page.functions.find((g) => g.name === c.name && g.module === c.module);
  fill(
    "source-body",
    make(
      "div",
      { class: "tools" },
      make("label", { for: "source-choice" }, "Function"),
      make(
        "select",
        {
          id: "source-choice",
          on: {
            change: (e) => {
              state.source = e.target.selectedIndex;
              drawSource();
              $("source-choice").focus();
            },
          },
        },
        choices.map((choice, i) => {
          const g = page.functions.find((h) => h.name === choice.name && h.module === choice.module);
          return make(
            "option",
            { selected: i === state.source ? "" : null },
            `${g ? percent(primaryShare(g)) + "  " : ""}${shownName(choice)}`,
          );
        }),
      ),
      listings.length > 0 && hasLines
        ? [
            button("Source", show(false), { id: "show-source", "aria-pressed": assembly ? "false" : "true" }),
            button("Instructions", show(true), { id: "show-asm", "aria-pressed": assembly ? "true" : "false" }),
          ]
        : null,
    ),
    make(
      "p",
      { class: "note" },
      f ? `${percent(primaryShare(f))} of all ${label(page.primary)} by itself, in ${moduleName(c.module)}. ` : "",
      byId.get(state.metric).level
        ? `The first column is per cent of all slots, lost to ${state.metric}`
        : `The first column is per cent of all ${label(page.primary)}`,
      hasNodes ? "; categories are per cent of the line’s own slots." : ".",
    ),
    assembly && !hasLines
      ? make("p", { class: "note" }, "No source line is known for it: these are its instructions.")
      : null,
    (assembly ? listings : sources).flatMap((s) => [
      heading(s, assembly),
      s.note ? make("p", { class: "note" }, sentence(s.note)) : null,
      s.lines.length > 0 ? codeTable(assembly ? asmRows(s) : sourceRows(s), assembly ? "asm" : "source") : null,
      ...(assembly ? [] : whys(s)),
    ]),
    assembly && page.notes.some((n) => n.startsWith("source: clock"))
      ? make(
          "p",
          { class: "note" },
          "An instruction that takes long often shows at the one after it: a sample is where the program goes on.",
        )
      : null,
  );
}
