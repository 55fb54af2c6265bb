// SPDX-License-Identifier: MIT
// What all parts of the page follow; and its begin.

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
  tellFound();
  if (then) $(then).scrollIntoView();
}
// How much of all is in frames that were found; a frame in one that was found counts once.
function tellFound() {
  const weights = withBelow(state.metric);
  const inside = new Uint8Array(stackCount);
  let found = 0,
    frames = 0;
  for (let i = 1; i < stackCount && state.query; i++) {
    const hit = frameMatches(i);
    frames += hit;
    if (hit && !inside[parentOf[i]]) found += weights[i];
    inside[i] = hit || inside[parentOf[i]];
  }
  const words = `${count(frames)} frames: ${percent(found / (weights[0] || 1))} of all ${label(state.metric)}`;
  fill("found", state.query ? words : "");
}
function search() {
  state.query = $("search").value.trim().toLowerCase();
  tellFound();
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
drawDiff();
drawAbout();
choose(page.primary);
document.documentElement.dataset.ready = "true";
