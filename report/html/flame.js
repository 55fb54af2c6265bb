// SPDX-License-Identifier: MIT
// Call stacks as a flame graph or an icicle.

// Columns hold each value less what nodes below it in the tree of causes have.
function decode(columns, length, list = metrics) {
  const values = {};
  for (const m of list) {
    const column = columns[m.id] || [];
    const all = (values[m.id] = new Float64Array(length));
    for (let i = 0, at = 0; i < column.length; i += 2) {
      at += column[i];
      all[at] = column[i + 1];
    }
  }
  for (const m of list.filter((l) => l.level).reverse()) {
    const above = values[m.parent || "slots"];
    for (let i = 0; above && i < length; i++) above[i] += values[m.id][i];
  }
  return values;
}
function treeOf(stacks) {
  const parents = Int32Array.from(stacks.parents, (back, i) => i - back);
  const children = Array.from(parents, () => []);
  const depths = new Int32Array(parents.length);
  for (let i = 1; i < parents.length; i++) {
    children[parents[i]].push(i);
    depths[i] = depths[parents[i]] + 1;
  }
  return { parents, children, depths };
}
// What each node has with all below it.
function sumsOf(values, parents) {
  const all = Float64Array.from(values);
  for (let i = all.length - 1; i > 0; i--) all[parents[i]] += all[i];
  return all;
}
const { parents: parentOf, children, depths: depthOf } = treeOf(page.stacks);
const stackCount = parentOf.length;
const own = decode(page.stacks.values, stackCount);
const sums = {};
const withBelow = (id) => (sums[id] = sums[id] || sumsOf(own[id], parentOf));
function frameName(i) {
  const frame = page.stacks.nodes[i];
  if (frame === -1) return "all";
  if (frame === -2) return "(smaller stacks)";
  const [name, module] = page.stacks.frames[frame];
  return name === "[unknown]" && module >= 0 ? "[unknown] of " + moduleName(module) : name;
}
// What fits into a frame: a C++ name without parameters, template arguments and what it returns.
function shortName(name) {
  const plain = name.replaceAll("(anonymous namespace)", "{anonymous}");
  if (!/[(<]/.test(plain) || /^[<[]|operator|^decltype/.test(plain)) return name;
  let short = "",
    depth = 0;
  for (let i = 0; i < plain.length; i++) {
    if (plain[i] === "(" && depth === 0) {
      if (plain.slice(i).includes(")::")) return name; // something inside of a function
      break;
    }
    if (plain[i] === ">") depth--;
    if (depth === 0) short += plain[i];
    if (plain[i] === "<") depth++;
  }
  if (depth !== 0) return name;
  return short.slice(short.lastIndexOf(" ") + 1) || name;
}
const frameModule = (i) => {
  const frame = page.stacks.nodes[i];
  return frame < 0 ? -1 : page.stacks.frames[frame][1];
};
const moduleKind = (module) => (moduleRank.has(module) ? "m" + moduleRank.get(module) : "none");
// The greatest cause; none where categories are known of less than half of it.
function causeKind(i) {
  let best = "none",
    most = 0,
    known = 0;
  for (const id of causes) {
    const value = withBelow(id)[i];
    known += value;
    if (value > most) [best, most] = [id, value];
  }
  return known >= withBelow("slots")[i] / 2 ? best : "none";
}
// Where most of it has no known category, modules say more.
function chooseColour() {
  const slots = own.slots;
  let known = 0;
  for (let i = 0; i < stackCount; i++) {
    const all = causes.reduce((sum, id) => sum + own[id][i], 0);
    if (all > 0 && all >= slots[i] / 2) known += slots[i];
  }
  if (known < slotsTotal / 2) state.colour = "module";
  return state.colour === "module";
}
const mostUnknown = hasNodes && chooseColour();
function kindOf(i) {
  if (state.colour === "change") return "change" + changeStep(i);
  return state.colour === "cause" ? causeKind(i) : moduleKind(frameModule(i));
}
const matches = (...texts) => texts.some((t) => t && t.toLowerCase().includes(state.query));
const frameMatches = (i) => state.query !== "" && i > 0 && matches(frameName(i), moduleName(frameModule(i)));

// Which nodes have a place: [node, left, width, row], the first ones those that contain the chosen one.
function layout(width) {
  const weights = withBelow(state.metric);
  for (let least = 1.5; ; least *= 2) {
    const boxes = [];
    for (let i = parentOf[state.zoom], n = state.zoom; n > 0; n = i, i = parentOf[i])
      boxes.unshift([i, 0, 1, depthOf[i]]);
    const open = [[state.zoom, 0, 1, depthOf[state.zoom]]];
    while (open.length > 0 && boxes.length <= FRAMES_MAX) {
      const box = open.shift();
      boxes.push(box);
      let left = box[1];
      for (const child of [...children[box[0]]].sort((a, b) => weights[b] - weights[a])) {
        const part = (box[2] * weights[child]) / (weights[box[0]] || 1);
        if (part * width < least) break;
        open.push([child, left, part, box[3] + 1]);
        left += part;
      }
    }
    if (boxes.length <= FRAMES_MAX) return boxes;
  }
}

let boxOf = new Map();
const spokenKind = (node) => {
  const kind = kindOf(node);
  if (state.colour === "change") return `, ${CHANGES.find((c) => c[0] === kind)[1]}`;
  return state.colour === "cause" && kind !== "none" ? `, mostly ${kind}` : "";
};
function drawFlame() {
  const area = $("frames");
  const width = area.clientWidth || 800;
  const boxes = layout(width);
  const rows = Math.max(...boxes.map((b) => b[3])) + 1;
  const weights = withBelow(state.metric);
  const room = make("div", { class: "room", role: "presentation", style: { height: rows * ROW + "px" } });
  boxOf = new Map();
  if (!boxes.some((b) => b[0] === state.focus)) state.focus = state.zoom;
  for (const [node, left, part, row] of boxes) {
    const passed = depthOf[node] < depthOf[state.zoom];
    const found = frameMatches(node);
    const look = passed ? "passed" : state.query && !found ? "other" : "cause c-" + kindOf(node);
    const share = weights[node] / (weights[0] || 1);
    const name = frameName(node),
      short = shortName(name);
    const e = make(
      "div",
      {
        class: `frame ${look}${found ? " match" : ""}`,
        role: "treeitem",
        "aria-level": row + 1,
        "aria-label": `${short}, ${percent(share)}${spokenKind(node)}${short === name ? "" : `; in full ${name}`}`,
        "aria-selected": node === state.focus ? "true" : "false",
        tabindex: node === state.focus ? "0" : "-1",
        "data-node": node,
        style: {
          left: 100 * left + "%",
          width: 100 * part + "%",
          top: (state.up ? rows - 1 - row : row) * ROW + "px",
        },
      },
      part * width > 24 ? short : "",
    );
    boxOf.set(node, { e, left, part, row });
    room.append(e);
  }
  area.replaceChildren(room);
  area.setAttribute("aria-label", `${state.up ? "Flame graph" : "Icicle"}: width is ${label(state.metric)}`);
  if (state.up) area.scrollTop = area.scrollHeight;
  fill("legend", legend());
  $("flame-reset").disabled = state.zoom === 0;
  describe(state.focus);
}

// The bar of a node's causes, and the same in words.
function causesOf(i) {
  const parts = causes
    .map((id) => [id, withBelow(id)[i]])
    .filter((p) => p[1] > 0)
    .sort((a, b) => b[1] - a[1]);
  const known = parts.reduce((sum, p) => sum + p[1], 0);
  const all = Math.max(known, withBelow("slots")[i]);
  if (parts.length === 0) return make("p", { class: "soft" }, "No category is known for it: too little was seen.");
  if (known < all) parts.push(["none", all - known]);
  return make(
    "div",
    {},
    make(
      "div",
      { class: "stack", "aria-hidden": "true" },
      parts.map(([id, v]) => make("i", { class: "cause c-" + id, style: { width: (100 * v) / all + "%" } })),
    ),
    make(
      "ul",
      { class: "legend" },
      parts
        .filter((p) => p[1] / all >= 0.005)
        .map(([id, v]) => make("li", {}, swatch(id), `${id === "none" ? "not known" : id} ${percent(v / all)}`)),
    ),
  );
}
function describe(i) {
  const weights = withBelow(state.metric),
    mine = own[state.metric][i];
  const module = moduleName(frameModule(i));
  const found = page.functions.findIndex((f) => f.name === frameName(i) && (f.module ?? -1) === frameModule(i));
  fill(
    "detail",
    make(
      "p",
      {},
      make("b", { class: "code" }, frameName(i)),
      module && frameName(i) !== "[unknown] of " + module ? ` in ${module}` : "",
    ),
    make(
      "p",
      { class: "soft", id: "detail-figures", "data-total": weights[i], "data-self": mine },
      `${percent(weights[i] / (weights[0] || 1))} of all ${label(state.metric)} with what it calls (${worth(state.metric, weights[i])}), ` +
        `${percent(mine / (weights[0] || 1))} by itself. `,
      found >= 0 && hasSource(page.functions[found])
        ? button("Show its source", () => openSource(page.functions[found]), { class: "plainly" })
        : "",
    ),
    page.diff ? make("p", { id: "detail-change" }, beforeWords(i)) : null,
    hasNodes ? causesOf(i) : null,
  );
}

function focusFrame(node, keep) {
  if (!boxOf.has(node)) return;
  const before = boxOf.get(state.focus);
  if (before) {
    before.e.tabIndex = -1;
    before.e.setAttribute("aria-selected", "false");
  }
  state.focus = node;
  const now = boxOf.get(node).e;
  now.tabIndex = 0;
  now.setAttribute("aria-selected", "true");
  if (!keep) now.focus();
  describe(node);
}
function zoomTo(node) {
  state.zoom = state.focus = node;
  drawFlame();
  boxOf.get(node).e.focus();
}
function beside(step) {
  const { row } = boxOf.get(state.focus);
  const line = [...boxOf]
    .filter(([, b]) => b.row === row)
    .sort((a, b) => a[1].left - b[1].left)
    .map(([node]) => node);
  return line[line.indexOf(state.focus) + step];
}
const firstInside = () =>
  [...boxOf]
    .filter(([node]) => node > 0 && parentOf[node] === state.focus)
    .sort((a, b) => a[1].left - b[1].left)
    .map(([node]) => node)[0];
function flameKey(event) {
  const outward = state.up ? "ArrowDown" : "ArrowUp",
    inward = state.up ? "ArrowUp" : "ArrowDown";
  const go = {
    ArrowLeft: () => beside(-1),
    ArrowRight: () => beside(1),
    Home: () => 0,
    [outward]: () => parentOf[state.focus],
    [inward]: firstInside,
  }[event.key];
  if (go) {
    const node = go();
    if (node !== undefined) focusFrame(node);
  } else if (event.key === "Enter" || event.key === " ") zoomTo(state.focus);
  else if (event.key === "Escape" || event.key === "Backspace")
    zoomTo(event.key === "Escape" ? 0 : parentOf[state.zoom]);
  else return;
  event.preventDefault();
}
function setUpFlame() {
  const nodeAt = (event) => event.target.closest("[data-node]");
  const turn = (up) => () => {
    state.up = up;
    $("flame-up").setAttribute("aria-pressed", up);
    $("flame-down").setAttribute("aria-pressed", !up);
    drawFlame();
  };
  fill(
    "flame-body",
    make(
      "div",
      { class: "tools" },
      button("Flame graph", turn(true), { id: "flame-up", "aria-pressed": "true" }),
      button("Icicle", turn(false), { id: "flame-down", "aria-pressed": "false" }),
      button("Show all", () => zoomTo(0), { id: "flame-reset" }),
      colours.length > 1
        ? [
            make("label", { for: "colour" }, "Colour by"),
            make(
              "select",
              {
                id: "colour",
                on: {
                  change: (e) => {
                    state.colour = e.target.value;
                    drawFlame();
                  },
                },
              },
              colours.map((c) =>
                make(
                  "option",
                  { value: c, selected: c === state.colour ? "" : null },
                  c === "cause" ? "greatest cause" : c,
                ),
              ),
            ),
          ]
        : null,
    ),
    make("ul", { class: "legend", id: "legend", "aria-label": "What the colours mean" }),
    make("div", {
      class: "scroll",
      id: "frames",
      role: "tree",
      on: {
        keydown: flameKey,
        click: (e) => nodeAt(e) && zoomTo(Number(nodeAt(e).dataset.node)),
        mouseover: (e) => nodeAt(e) && describe(Number(nodeAt(e).dataset.node)),
        mouseleave: () => describe(state.focus),
        focusin: (e) =>
          nodeAt(e) &&
          Number(nodeAt(e).dataset.node) !== state.focus &&
          focusFrame(Number(nodeAt(e).dataset.node), true),
      },
    }),
    make("div", { id: "detail" }),
    mostUnknown
      ? make(
          "p",
          { class: "note" },
          "Of most of it no category is known function by function: frames begin in the colour of their module.",
        )
      : null,
    page.stacks.left_out > 0
      ? make(
          "p",
          { class: "note", id: "cut" },
          `So that the page stays small, the ${count(page.stacks.left_out)} smallest stacks are put together as “(smaller stacks)”: ` +
            `${percent(page.stacks.left_out_share, 2)} of all. All sums hold.`,
        )
      : null,
    report.profile.call_graph === "none"
      ? make(
          "p",
          { class: "note" },
          "This profile was recorded without call stacks: record with tdrec -g to see callers.",
        )
      : null,
    make(
      "p",
      { class: "note" },
      make("kbd", {}, "arrows"),
      " go from frame to frame, ",
      make("kbd", {}, "Enter"),
      " or a click zooms, ",
      make("kbd", {}, "Backspace"),
      " goes one step out, ",
      make("kbd", {}, "Esc"),
      " shows all.",
    ),
  );
  let wide = 0;
  new ResizeObserver(() => {
    const area = $("frames");
    if (area.clientWidth !== wide) {
      wide = area.clientWidth;
      drawFlame();
    }
  }).observe($("frames"));
}
