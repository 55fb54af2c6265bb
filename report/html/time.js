// SPDX-License-Identifier: MIT
// What was taken over the time of the run.

const svg = (tag, set) => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(set)) e.setAttribute(key, value);
  return e;
};
let steps = null;
function stepParts(i) {
  if (!hasNodes || page.timeline.native_only) {
    const id = page.timeline.native_only ? "time" : page.primary;
    return [["time", steps[id][i]]];
  }
  if (byId.get(state.metric).level) return [[causeOf(state.metric), steps[state.metric][i]]];
  const parts = causes.map((id) => [id, steps[id][i]]);
  parts.push(["none", Math.max(0, steps.slots[i] - parts.reduce((sum, p) => sum + p[1], 0))]);
  return parts;
}
function tellStep() {
  const t = page.timeline,
    i = state.step;
  if (i < 0) {
    fill("step", "Move over the picture, or go to it and press the arrow keys, for the figures of a moment.");
    return;
  }
  const parts = stepParts(i).filter((p) => p[1] > 0),
    all = hasNodes && !t.native_only ? steps.slots[i] : parts.reduce((s, p) => s + p[1], 0);
  const words = parts
    .map(([id, v]) =>
      id === "none" || id === "time" ? "" : `${byId.get(state.metric).level ? state.metric : id} ${percent(v / all)}`,
    )
    .filter(Boolean);
  const unit = hasNodes && !t.native_only ? "slots" : t.native_only ? "time" : page.primary;
  fill(
    "step",
    `${seconds((t.from_ns + i * t.step_ns) * 1e-9)} to ${seconds((t.from_ns + (i + 1) * t.step_ns) * 1e-9)}: ` +
      (all > 0
        ? `${unit === "slots" ? amount(all) + " slots" : worth(unit, all)}${words.length ? ": " + words.join(", ") : ""}`
        : "nothing"),
  );
}
function drawTime() {
  const t = page.timeline;
  if (!t) {
    fill(
      "time-body",
      make(
        "p",
        { class: "note" },
        page.modelled
          ? "A modelled profile holds sums, which have no times: there is nothing to show over time."
          : "This profile has no times (it holds sums, as a merge makes them).",
      ),
    );
    return;
  }
  steps = steps || decode(t.values, t.steps);
  const stacks = Array.from({ length: t.steps }, (_, i) => stepParts(i));
  const level = hasNodes && !t.native_only && byId.get(state.metric).level;
  const highest = Math.max(1, ...stacks.map((p, i) => (level ? steps.slots[i] : p.reduce((sum, q) => sum + q[1], 0))));
  const picture = svg("svg", {
    id: "clock",
    viewBox: `0 0 ${t.steps} 100`,
    preserveAspectRatio: "none",
    tabindex: 0,
    role: "img",
    "aria-describedby": "step",
    "aria-label": `${level ? state.metric : label(hasNodes && !t.native_only ? "slots" : page.primary)} over time`,
  });
  const base = new Float64Array(t.steps);
  for (let k = 0; k < stacks[0].length; k++) {
    let up = "",
      down = "";
    for (let i = 0; i < t.steps; i++) {
      const from = 100 - (100 * base[i]) / highest;
      base[i] += stacks[i][k][1];
      up += `${i ? "L" : "M"}${i} ${100 - (100 * base[i]) / highest}L${i + 1} ${100 - (100 * base[i]) / highest}`;
      down = `L${i + 1} ${from}L${i} ${from}` + down;
    }
    picture.append(svg("path", { class: "f-" + stacks[0][k][0], d: up + down + "Z" }));
  }
  const cursor = svg("line", { class: "cursor", y1: 0, y2: 100, visibility: "hidden" });
  picture.append(cursor);
  const set = (i) => {
    state.step = Math.max(0, Math.min(t.steps - 1, i));
    cursor.setAttribute("x1", state.step + 0.5);
    cursor.setAttribute("x2", state.step + 0.5);
    cursor.setAttribute("visibility", "visible");
    tellStep();
  };
  picture.addEventListener("mousemove", (e) => {
    const box = picture.getBoundingClientRect();
    set(Math.floor(((e.clientX - box.left) / box.width) * t.steps));
  });
  picture.addEventListener("keydown", (e) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[e.key];
    if (!step) return;
    e.preventDefault();
    set(state.step + step);
  });
  fill(
    "time-body",
    t.native_only
      ? make(
          "p",
          { class: "note" },
          "Only the native run has times: this shows its CPU time. Its categories come from the modelled run, which has sums.",
        )
      : null,
    picture,
    make(
      "div",
      { class: "axis" },
      make("span", {}, seconds(t.from_ns * 1e-9)),
      make(
        "span",
        {},
        `top: ${worth(hasNodes && !t.native_only ? "slots" : t.native_only ? "time" : page.primary, highest)} in ${seconds(t.step_ns * 1e-9)}`,
      ),
      make("span", {}, seconds((t.from_ns + t.steps * t.step_ns) * 1e-9)),
    ),
    hasNodes && !t.native_only
      ? make(
          "p",
          { class: "note" },
          level
            ? `Height: slots lost to ${state.metric}; the whole height is all slots.`
            : `From the bottom up: ${[...causes].join(", ")}.`,
        )
      : null,
    make("p", { id: "step", class: "note", role: "status" }),
  );
  state.step = -1;
  tellStep();
}
