// SPDX-License-Identifier: MIT
// Head, verdict, the tree, and how it was measured.

// ---- Head and verdict

// "Golden Cove at 3.2 GHz; L1d 48 kB, L2 1.25 MB".
function machineFacts() {
  const m = page.machine;
  const size = (kb) => (kb >= 1024 ? `${Number((kb / 1024).toFixed(2))} MB` : `${kb} kB`);
  const caches = Object.entries(m.cache_kb).map(([name, kb]) => `${name} ${size(kb)}`);
  if (!m.name) return report.profile.cpu || "";
  const clock = m.clock_hz ? ` at ${(m.clock_hz * 1e-9).toFixed(1)} GHz` : "";
  return m.name + clock + (caches.length ? `; ${caches.join(", ")}` : "");
}
// Where the figures are from: never a modelled one without the word.
function sourceFacts() {
  const machine = machineFacts();
  const source = report.profile.source || "source not known";
  if (page.hybrid) return [`hybrid: time measured, categories modelled on ${machine}`];
  return page.modelled ? [`${source}, modelled on ${machine}`] : [source, machine];
}
function facts() {
  const p = report.profile,
    c = report.coverage,
    kind = page.modelled && !page.hybrid ? "modelled time" : "CPU time",
    together = page.threads_together > 1 ? ` in ${count(page.threads_together)} threads together` : "";
  return [
    ...sourceFacts(),
    p.duration_s > 0 ? `${seconds(p.duration_s)} recorded` : "",
    hasTime ? `${seconds(byId.get("time").total * 1e-9)} of ${kind}${together}` : "",
    c.samples > 0 && !(page.modelled && !page.hybrid) ? `${count(c.samples)} samples` : "",
    page.machine.ipc ? `${page.machine.ipc.toFixed(2)} instructions per cycle` : "",
    page.filter ? `only ${page.filter} (${percent(page.kept_share)} of the profile)` : "",
  ].filter(Boolean);
}
const shown = (n, error) => [
  percent(n).replace(" %", ""),
  make("small", {}, (plusMinus(error) ? plusMinus(error) : "") + " %"),
];
function finding(n) {
  const info = byId.get(n.id) || {};
  const gain =
    n.speedup_at_most >= 1.05
      ? ` Removing it all gives up to about ${n.speedup_at_most.toFixed(1)} times the speed.`
      : "";
  const time = n.seconds ? ` It is ${seconds(n.seconds)}.` : "";
  const advice = n.try ? [make("br"), make("span", { class: "soft" }, "Try: "), `${n.try}. `] : [];
  return make(
    "div",
    { class: "finding" },
    make("div", { class: "figure" }, shown(n.share, n.error)),
    make(
      "p",
      {},
      swatch(causeOf(n.id)),
      make("b", {}, n.id),
      ` of ${label("slots")}: ${info.meaning || ""}.${time}${gain} `,
      button("Show where", () => choose(n.id, "flame"), { class: "plainly", "aria-label": `Show where ${n.id} is` }),
      advice,
    ),
  );
}
// The cause whose colour a node has.
function causeOf(id) {
  for (let m = byId.get(id); m; m = byId.get(m.parent)) if (causes.includes(m.id)) return m.id;
  return id === "backend_bound" ? id : "none";
}
function place(p) {
  const at = p.file ? `${fileName(p.file)}${p.line ? ":" + p.line : ""} ` : "";
  const f = page.functions.find((g) => g.name === p.function);
  const losses =
    p.categories
      .filter((c, i) => i === 0 || (i < 3 && c.slots_share >= 0.005))
      .map((c) => `${percent(c.slots_share)} ${c.id}`)
      .join(", ") || percent(p.slots_share);
  return make(
    "li",
    {},
    f && hasSource(f)
      ? button(at + p.function, () => openSource(f, p.line), { class: "plainly code" })
      : make("span", { class: "code" }, at + p.function),
    make("span", { class: "soft" }, "  " + losses),
  );
}
const listed = (nodes, word) =>
  nodes.map((n) => `${n.id} ${percent(n.share)}${plusMinus(n.error)} (${word} ${percent(n.threshold, 0)})`).join(", ");
function noCategories() {
  const why =
    page.method ||
    (report.profile.source === "clock" || !report.profile.source ? "" : report.profile.source_reason) ||
    "";
  return make(
    "p",
    {},
    make("b", {}, page.primary === "time" ? "Time only: " : "No categories: "),
    `this profile has no pipeline categories, so the page shows where the ${label(page.primary)} went, not why. ${why ? sentence(why) : ""} ` +
      "tdrec --source pmu (where the CPU can count them) or --source sim records categories.",
  );
}
const sentence = (text) => {
  const t = text[0].toUpperCase() + text.slice(1);
  return /[.!?]$/.test(t) ? t : t + ".";
};
function topPlaces() {
  const i = costs.findIndex((m) => m.id === page.primary),
    total = byId.get(page.primary).total;
  return make(
    "ul",
    { class: "places" },
    page.functions
      .slice(0, 3)
      .map((f) =>
        make(
          "li",
          {},
          hasSource(f)
            ? button(f.name, () => openSource(f), { class: "plainly code" })
            : make("span", { class: "code" }, shownName(f)),
          make(
            "span",
            { class: "soft" },
            `  ${percent(f.costs[i] / total)} of all ${label(page.primary)}, in ${moduleName(f.module)}`,
          ),
        ),
      ),
  );
}
function usefulWork(useful) {
  const where = useful.functions.map((f) => `${f.function} ${percent(f.work_share)}`).join(", ");
  return make(
    "p",
    {},
    make("b", {}, ...shown(useful.share, useful.error), " of the slots do useful work: "),
    `fewer instructions make it faster.${where ? ` They are in: ${where}.` : ""}`,
  );
}
function drawVerdict() {
  const v = report.verdict;
  const c = report.coverage;
  const bad = [];
  if (c.damaged) bad.push("The profile is damaged: a part of it could not be read, and shares are of what could.");
  if (c.cut) bad.push("The recording was cut off: what was written is shown.");
  if (c.lost > 0) bad.push(`${count(c.lost)} samples were lost.`);
  fill(
    "verdict-body",
    bad.map((text) => make("p", { class: "warn" }, text)),
    v ? v.high.map(finding) : noCategories(),
    v && v.high.length === 0 && !v.useful
      ? make("p", {}, make("b", {}, "No category of lost slots stands out."))
      : null,
    v && v.useful ? usefulWork(v.useful) : null,
    make("h3", {}, "Look at"),
    v && v.look_at.length > 0 ? make("ul", { class: "places" }, v.look_at.map(place)) : topPlaces(),
    v && v.unsure.length > 0 ? make("p", { class: "soft" }, `Not sure: ${listed(v.unsure, "high is")}`) : null,
    v && v.ruled_out.length > 0 ? make("p", { class: "soft" }, `Ruled out: ${listed(v.ruled_out, "below")}`) : null,
    page.next ? make("p", { class: "soft" }, "Next in a terminal: ", make("code", {}, page.next)) : null,
  );
}

// ---- The tree

function treeRow(n) {
  const info = byId.get(n.id) || {};
  const chosen = state.metric === n.id;
  return make(
    "tr",
    { class: `${n.flagged || n.level === 1 ? "" : "low"}${chosen ? " chosen" : ""}`, "data-id": n.id, "data-slots": n.slots },
    make(
      "th",
      { scope: "row", class: "l" + n.level },
      button(
        n.id,
        () => {
          choose(chosen ? page.primary : n.id);
          document.querySelector(`#tree [data-id="${n.id}"] button`).focus({ preventScroll: true });
        },
        { class: "plainly", "aria-pressed": chosen ? "true" : "false" },
      ),
      n.flagged ? make("span", { class: "tag" }, "high") : "",
      n.unsure ? make("span", { class: "tag" }, "not sure") : "",
    ),
    make(
      "td",
      {},
      make(
        "div",
        { class: "track", "aria-hidden": "true" },
        make("i", { class: "cause c-" + causeOf(n.id), style: { width: 100 * n.share + "%" } }),
        make("u", { style: { left: 100 * n.threshold + "%" } }),
      ),
    ),
    make("td", { class: "number" }, (100 * n.share).toFixed(1)),
    make("td", { class: "number soft" }, n.error >= 0.00005 ? (100 * n.error).toFixed(n.error < 0.0005 ? 2 : 1) : ""),
    make("td", { class: "number soft" }, page.categorized_ns > 0 ? seconds(secondsOfSlots(n.slots)) : ""),
    make("td", { class: "soft meaning" }, (info.meaning || "") + (n.run > 1 ? ` (run ${n.run})` : "")),
  );
}
// What is usually behind a category that was chosen, and what to do about it.
function adviceOf(id) {
  const info = byId.get(id);
  if (!info.level) return null;
  return make("p", { class: "advice" }, make("b", {}, id), ` ${sentence(info.causes)} ${sentence(info.details)}`);
}
function drawTree() {
  $("tree").hidden = !hasNodes;
  if (!hasNodes) return;
  const errors = report.tree.some((n) => n.error > 0);
  const head = ["Category", "", "%", errors ? "±" : "", page.categorized_ns > 0 ? "time" : "", "What it means"];
  fill("tree-title", `Where the ${label("slots")} went`);
  fill(
    "tree-body",
    make(
      "div",
      { class: "scroll", role: "region", tabindex: "0", "aria-label": "Table of categories" },
      make(
        "table",
        { class: "bars" },
        make(
          "thead",
          {},
          make(
            "tr",
            {},
            head.map((text, i) =>
              i === 1
                ? make("td", {})
                : text
                  ? make("th", { scope: "col", class: i > 1 && i < 5 ? "number" : "" }, text)
                  : make("td", {}),
            ),
          ),
        ),
        make("tbody", {}, report.tree.map(treeRow)),
      ),
    ),
    make(
      "p",
      { class: "note" },
      `All ${amount(slotsTotal)} ${label("slots")} are 100 %. The line in a bar is the threshold from which on a category is high. ` +
        "Click a category to weigh all that follows by it.",
    ),
    adviceOf(state.metric),
  );
}

// ---- How it was measured

function drawAbout() {
  const c = report.coverage,
    warnings = page.notes.filter((n) => n.startsWith("warning: "));
  const rows = page.notes
    .filter((n) => !n.startsWith("warning: "))
    .map((n) => {
      const colon = n.indexOf(": ");
      return colon > 0 && colon < 24 ? [n.slice(0, colon).replace(/_/g, " "), n.slice(colon + 2)] : ["", n];
    });
  const shares = [
    ["without a name", c.unresolved_share],
    ["without a line", c.no_line_share],
    ["of stacks cut short", c.truncated_stacks_share],
    ["of CPU time not sampled", c.unsampled_share],
  ]
    .filter((s) => s[1] >= 0.0005)
    .map(([what, s]) => `${percent(s)} ${what}`);
  rows.push([
    "coverage",
    [c.complete ? "complete" : "not complete", `${count(c.lost)} samples lost`, ...shares].join(", "),
  ]);
  if (page.method) rows.push(["categories", page.method]);
  fill(
    "about-body",
    make(
      "dl",
      { class: "facts" },
      rows.flatMap(([what, text]) => [make("dt", {}, what), make("dd", {}, text)]),
    ),
    warnings.length + page.gaps.length > 0
      ? make(
          "ul",
          { class: "notes" },
          warnings.map((n) => make("li", {}, sentence(n.slice(9)))),
          page.gaps
            .filter((g) => g.share >= 0.005)
            .map((g) => make("li", {}, `${percent(g.share)} in ${moduleName(g.module)}: ${sentence(g.note)}`)),
        )
      : null,
    report.rates && report.rates.length > 0
      ? make(
          "details",
          {},
          make("summary", {}, "Rates of the whole recording"),
          make(
            "table",
            {},
            make(
              "tbody",
              {},
              report.rates.map((r) =>
                make(
                  "tr",
                  {},
                  make("th", { scope: "row" }, `${r.cpu_type ? r.cpu_type + " " : ""}${r.name.replace(/_/g, " ")}`),
                  make(
                    "td",
                    { class: "number" },
                    r.unit === "ratio" ? percent(r.value, 2) : `${r.value.toFixed(2)} ${r.unit.replace(/_/g, " ")}`,
                  ),
                ),
              ),
            ),
          ),
        )
      : null,
    make(
      "p",
      { class: "note" },
      `This page is one file: nothing is loaded from elsewhere, and nothing is sent. Written by ${page.tool}.`,
    ),
  );
}
