// SPDX-License-Identifier: MIT
// The page of tdreport html: reads its data (an object as of tdreport --json, with "page" beside), and draws it.
// Text from the profile reaches the page as text nodes alone. Nothing is loaded, stored or sent.
"use strict";
(() => {
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
      if (child !== null && child !== undefined && child !== "")
        e.append(child instanceof Node ? child : visible(child));
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
  if (!hasNodes) rankModules();
  const swatch = (kind) => make("span", { class: "swatch cause c-" + kind });
  function legend() {
    const items = hasNodes
      ? causes.map((id) => [id, id])
      : [...moduleRank].map(([module, rank]) => ["m" + rank, moduleName(module)]);
    return make(
      "ul",
      { class: "legend", "aria-label": hasNodes ? "Colours: the greatest cause" : "Colours: modules" },
      items.map(([kind, name]) => make("li", {}, swatch(kind), name)),
      make("li", {}, swatch("none"), hasNodes ? "no category known" : "other modules"),
    );
  }

  // ---- Stacks

  // Columns hold each value less what nodes below it in the tree of causes have.
  function decode(columns, length) {
    const values = {};
    for (const m of metrics) {
      const column = columns[m.id] || [];
      const all = (values[m.id] = new Float64Array(length));
      for (let i = 0, at = 0; i < column.length; i += 2) {
        at += column[i];
        all[at] = column[i + 1];
      }
    }
    for (const m of [...nodes].reverse()) {
      const above = values[m.parent || "slots"];
      for (let i = 0; above && i < length; i++) above[i] += values[m.id][i];
    }
    return values;
  }
  const stackCount = page.stacks.nodes.length;
  const own = decode(page.stacks.values, stackCount);
  const parentOf = Int32Array.from(page.stacks.parents, (back, i) => i - back);
  const children = Array.from({ length: stackCount }, () => []);
  const depthOf = new Int32Array(stackCount);
  for (let i = 1; i < stackCount; i++) {
    children[parentOf[i]].push(i);
    depthOf[i] = depthOf[parentOf[i]] + 1;
  }
  const sums = {};
  function withBelow(id) {
    if (!sums[id]) {
      const all = (sums[id] = Float64Array.from(own[id]));
      for (let i = stackCount - 1; i > 0; i--) all[parentOf[i]] += all[i];
    }
    return sums[id];
  }
  function frameName(i) {
    const frame = page.stacks.nodes[i];
    if (frame === -1) return "all";
    if (frame === -2) return "(smaller stacks)";
    const [name, module] = page.stacks.frames[frame];
    return name === "[unknown]" && module >= 0 ? "[unknown] of " + moduleName(module) : name;
  }
  const frameModule = (i) => {
    const frame = page.stacks.nodes[i];
    return frame < 0 ? -1 : page.stacks.frames[frame][1];
  };
  function kindOf(i) {
    if (!hasNodes) return moduleRank.has(frameModule(i)) ? "m" + moduleRank.get(frameModule(i)) : "none";
    let best = "none",
      most = 0;
    for (const id of causes) {
      const value = withBelow(id)[i];
      if (value > most) [best, most] = [id, value];
    }
    return best;
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
      const name = frameName(node);
      const e = make(
        "div",
        {
          class: `frame ${look}${found ? " match" : ""}`,
          role: "treeitem",
          "aria-level": row + 1,
          "aria-label": `${name}, ${percent(share)}`,
          "aria-selected": node === state.focus ? "true" : "false",
          tabindex: node === state.focus ? "0" : "-1",
          "data-node": node,
          style: {
            left: 100 * left + "%",
            width: 100 * part + "%",
            top: (state.up ? rows - 1 - row : row) * ROW + "px",
          },
        },
        part * width > 24 ? name : "",
      );
      boxOf.set(node, { e, left, part, row });
      room.append(e);
    }
    area.replaceChildren(room);
    area.setAttribute("aria-label", `${state.up ? "Flame graph" : "Icicle"}: width is ${label(state.metric)}`);
    if (state.up) area.scrollTop = area.scrollHeight;
    $("flame-reset").disabled = state.zoom === 0;
    describe(state.focus);
  }

  // The bar of a node's causes, and the same in words.
  function causesOf(i) {
    const all = withBelow("slots")[i];
    const parts = causes
      .map((id) => [id, withBelow(id)[i]])
      .filter((p) => p[1] > 0)
      .sort((a, b) => b[1] - a[1]);
    if (!all || parts.length === 0) return make("p", { class: "soft" }, "No category is known for it.");
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
          .map(([id, v]) => make("li", {}, swatch(id), `${id} ${percent(v / all)}`)),
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
      ),
      legend(),
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
      make("div", { id: "detail", "aria-live": "polite" }),
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

  // ---- Head and verdict

  function facts() {
    const p = report.profile,
      c = report.coverage;
    const source = p.source + (p.core ? (page.modelled ? ", modelled on core " : " on core ") + p.core : "");
    return [
      page.hybrid ? `hybrid: time measured, categories modelled on core ${p.core}` : source,
      p.duration_s > 0 ? `${seconds(p.duration_s)} recorded` : "",
      hasTime
        ? `${seconds(byId.get("time").total * 1e-9)} ${page.modelled && !page.hybrid ? "of modelled time" : "of CPU time"}`
        : "",
      c.samples > 0 && !(page.modelled && !page.hybrid) ? `${count(c.samples)} samples` : "",
      p.instructions && p.cycles ? `${(p.instructions / p.cycles).toFixed(2)} instructions per cycle` : "",
      p.cpu || "",
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
        ? ` Removing it all gives at most ${n.speedup_at_most.toFixed(1)} times the speed.`
        : "";
    const time = n.seconds ? ` It is ${seconds(n.seconds)}.` : "";
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
    nodes
      .map((n) => `${n.id} ${percent(n.share)}${plusMinus(n.error)} (${word} ${percent(n.threshold, 0)})`)
      .join(", ");
  function noCategories() {
    const why =
      page.method ||
      (report.profile.source === "clock" || !report.profile.source ? "" : report.profile.source_reason) ||
      "";
    return make(
      "p",
      {},
      make("b", {}, "Time only: "),
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
              : make("span", { class: "code" }, f.name),
            make(
              "span",
              { class: "soft" },
              `  ${percent(f.costs[i] / total)} of all ${label(page.primary)}, in ${moduleName(f.module)}`,
            ),
          ),
        ),
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
      v && v.high.length === 0
        ? make(
            "p",
            {},
            make("b", {}, "No category of lost slots stands out: "),
            "most slots do useful work, so only fewer instructions make it faster.",
          )
        : null,
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
      { class: `${n.flagged ? "" : "low"}${chosen ? " chosen" : ""}`, "data-id": n.id, "data-slots": n.slots },
      make(
        "th",
        { scope: "row", class: "l" + n.level },
        button(n.id, () => choose(chosen ? page.primary : n.id), {
          class: "plainly",
          "aria-pressed": chosen ? "true" : "false",
        }),
        n.flagged && n.id !== "retiring" ? make("span", { class: "tag" }, "high") : "",
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
      make("td", { class: "soft" }, (info.meaning || "") + (n.run > 1 ? ` (run ${n.run})` : "")),
    );
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
    );
  }

  // ---- Over time

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
    const highest = Math.max(
      1,
      ...stacks.map((p, i) => (level ? steps.slots[i] : p.reduce((sum, q) => sum + q[1], 0))),
    );
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

  // ---- Functions

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
    return hasNodes ? best : moduleRank.has(f.module) ? "m" + moduleRank.get(f.module) : "none";
  };
  function heat(share, id, error) {
    if (share === null) return "";
    const depth = Math.round(8 + 40 * Math.min(1, share));
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
      value: (f) => visible(f.name),
      class: "name",
      show: (f) => (hasSource(f) ? button(f.name, () => openSource(f), { class: "plainly" }) : f.name),
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

  // ---- Source and instructions

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
                            background: `color-mix(in oklab, var(${chosen ? "--" + causeOf(chosen) : "--memory_bound"}) ${Math.round(8 + (40 * share) / most)}%, transparent)`,
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
                make("td", { class: "number" }, r.head),
                kind === "asm" ? make("td", { class: "number" }, r.line || "") : null,
                make("td", { class: "text" }, r.text),
              ),
            ].filter(Boolean);
          }),
        ),
      ),
    );
  }
  function sourceRows(s) {
    let last = 0;
    return s.lines.map(([number, text, values, inlined]) => {
      const gap = last > 0 && number !== last + 1;
      last = number;
      return { head: number, text: text === null ? "" : text, values: valuesOf(values), inlined: inlined || 0, gap };
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
  function drawSource() {
    if (choices.length === 0) {
      fill(
        "source-body",
        make(
          "p",
          { class: "note" },
          "No source lines are known for the hot functions: the programs have no debug information (gcc -g).",
        ),
      );
      return;
    }
    const c = choices[Math.max(0, state.source)];
    const sources = page.sources.filter((s) => s.function === c.name && s.module === c.module);
    const listings = page.instructions.filter((s) => s.function === c.name && s.module === c.module);
    const assembly = state.assembly && listings.length > 0;
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
              `${g ? percent(primaryShare(g)) + "  " : ""}${choice.name}`,
            );
          }),
        ),
        listings.length > 0
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
      (assembly ? listings : sources).flatMap((s) => [
        make(
          "h3",
          { class: "code" },
          assembly ? (s.container && s.container !== s.function ? `inlined into ${s.container}` : "") : s.file || "",
        ),
        s.note ? make("p", { class: "note" }, sentence(s.note)) : null,
        s.lines.length > 0 ? codeTable(assembly ? asmRows(s) : sourceRows(s), assembly ? "asm" : "source") : null,
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

  // ---- What all parts follow

  function choose(id, then) {
    state.metric = id;
    state.sort = byId.get(id).level ? { key: "lost", down: true } : { key: "share", down: true };
    $("metric").value = id;
    drawTree();
    fill("flame-title", `Call stacks by ${label(id)}`);
    drawFlame();
    drawTime();
    drawFunctions();
    drawSource();
    if (then) $(then).scrollIntoView();
  }
  function search() {
    state.query = $("search").value.trim().toLowerCase();
    const weights = withBelow(state.metric);
    let found = 0,
      frames = 0;
    const inside = new Uint8Array(stackCount); // a frame in a frame that was found counts once
    for (let i = 1; i < stackCount && state.query; i++) {
      const hit = frameMatches(i);
      frames += hit;
      if (hit && !inside[parentOf[i]]) found += weights[i];
      inside[i] = hit || inside[parentOf[i]];
    }
    fill(
      "found",
      state.query ? `${count(frames)} frames: ${percent(found / (weights[0] || 1))} of all ${label(state.metric)}` : "",
    );
    drawFlame();
    drawFunctions();
  }
  function setUpBar() {
    const select = $("metric");
    const kinds = costs.filter((m) => m.total > 0 && !(m.id === "samples" && hasNodes));
    for (const m of kinds) select.append(make("option", { value: m.id }, `all ${label(m.id)}`));
    for (const n of hasNodes ? report.tree : []) {
      if (n.slots > 0)
        select.append(make("option", { value: n.id }, `${"\u00a0\u00a0".repeat(n.level)}${n.id} ${percent(n.share)}`));
    }
    select.value = state.metric;
    select.addEventListener("change", () => choose(select.value));
    let wait = 0;
    $("search").addEventListener("input", () => {
      clearTimeout(wait);
      wait = setTimeout(search, 80);
    });
    document.addEventListener("keydown", (e) => {
      const typing = e.target instanceof Element && e.target.closest("input, select");
      if (e.key === "/" && !typing && !e.ctrlKey && !e.metaKey) {
        e.preventDefault();
        $("search").focus();
      }
      if (e.key === "Escape" && e.target === $("search")) {
        $("search").value = "";
        search();
      }
    });
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const isDark = () => (document.documentElement.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
    const name = () => {
      $("theme").textContent = isDark() ? "Light" : "Dark";
      $("theme").setAttribute("aria-label", isDark() ? "Light colours" : "Dark colours");
    };
    $("theme").addEventListener("click", () => {
      document.documentElement.dataset.theme = isDark() ? "light" : "dark";
      name();
    });
    dark.addEventListener("change", name);
    name();
  }

  const command = report.profile.command.join(" ");
  fill("title", visible(command || "Profile"));
  fill(
    "facts",
    facts().map((text) => make("span", {}, text)),
  );
  for (const id of ["head", "bar", "main"]) $(id).hidden = false;
  setUpBar();
  setUpFlame();
  drawVerdict();
  drawAbout();
  choose(page.primary);
  document.documentElement.dataset.ready = "true";
})();
