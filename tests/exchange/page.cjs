// SPDX-License-Identifier: MIT
// Opens pages of tdreport html from disk in headless Chromium and compares what they show with tdreport --json; uses them by
// mouse and keyboard, in light and dark, at 200 % and on a narrow screen; asks axe for faults; lets no request pass unseen.
// usage: node page.cjs NODE_MODULES CHROMIUM JSON, an array of {name, page, report}; exit 1 and a line a fault
const fs = require('fs');
const os = require('os');
const path = require('path');

const [modules, chromium] = process.argv.slice(2, 4).map((p) => path.resolve(p));
const pages = JSON.parse(process.argv[4]);
const puppeteer = require(path.join(modules, 'puppeteer-core'));
const axe = fs.readFileSync(path.join(modules, 'axe-core', 'axe.min.js'), 'utf8');
const OPEN_MS = { large: 3000, other: 1000 }; // on an idle machine
const SLACK = Number(process.env.TD_PAGE_SLACK || 5); // machines that test are slow, and busy
let problems = 0;

function check(what, holds, detail) {
  if (holds) return;
  problems++;
  console.log(`FAILED: ${what}: ${JSON.stringify(detail)}`.slice(0, 900));
}
const near = (a, b, slack) => Math.abs(a - b) <= slack;

// What a test finds on the page: as a reader does, by its text and roles.
const texts = (page, selector) => page.$$eval(selector, (all) => all.map((e) => e.textContent));
const number = (text) => Number(text.replace(/[^\d.-]/g, ''));

async function openPage(browser, name, file, scheme, width, scale) {
  const page = await browser.newPage();
  const seen = { requests: [], errors: [] };
  page.on('request', (r) => {
    if (r.url() !== `file://${file}`) seen.requests.push(r.url());
  });
  page.on('pageerror', (e) => seen.errors.push(e.message));
  page.on('console', (m) => seen.errors.push(m.text()));
  page.on('dialog', (d) => {
    seen.errors.push(d.message());
    d.dismiss();
  });
  await page.setViewport({
    width: Math.round(width / scale),
    height: Math.round(900 / scale),
    deviceScaleFactor: scale,
  });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
  const begun = Date.now();
  await page.goto(`file://${file}`);
  await page.waitForSelector('html[data-ready]', { timeout: 20000 });
  const took = Date.now() - begun;
  console.log(`${name} (${scheme}, ${width / scale} wide): open in ${took} ms`);
  check(`${name}: opens in time`, took < SLACK * (OPEN_MS[name] || OPEN_MS.other), took);
  return { page, seen };
}

async function audit(name, page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run());
  for (const v of found.violations.filter((f) => ['serious', 'critical'].includes(f.impact))) {
    check(
      `${name}: axe: ${v.id}`,
      false,
      v.nodes.slice(0, 3).map((n) => [n.html.slice(0, 160), n.failureSummary]),
    );
  }
}

async function checkTree(name, page, report) {
  const rows = await page.$$eval('#tree tbody tr', (all) =>
    all.map((r) => [r.dataset.id, Number(r.dataset.slots), r.cells[2].textContent]),
  );
  check(`${name}: the tree has all nodes`, rows.length === report.tree.length, rows.length);
  report.tree.forEach((n, i) =>
    check(
      `${name}: ${n.id} in the tree`,
      rows[i] && rows[i][0] === n.id && rows[i][1] === n.slots && near(Number(rows[i][2]), 100 * n.share, 0.051),
      [n, rows[i]],
    ),
  );
}

const detail = (page) =>
  page.$eval('#detail-figures', (e) => ({ total: Number(e.dataset.total), text: e.textContent }));

// Each category chosen in turn: the flame graph's whole is the tree's node.
async function checkFlame(name, page, report) {
  for (const node of report.tree.filter((n) => n.slots > 0)) {
    await page.select('#metric', node.id);
    check(`${name}: flame graph of ${node.id}`, (await detail(page)).total === node.slots, [node, await detail(page)]);
    const title = await page.$eval('#flame-title', (e) => e.textContent);
    check(`${name}: its title`, title.includes(node.id), title);
  }
  const all = await page.$$eval('#metric option', (options) => options.map((o) => o.value));
  await page.select('#metric', all[0]);
  const widths = await page.$$eval('#frames [data-node]', (frames) =>
    frames.map((f) => [f.getAttribute('aria-level'), parseFloat(f.style.width)]),
  );
  const levels = new Map();
  for (const [level, width] of widths) levels.set(level, (levels.get(level) || 0) + width);
  check(
    `${name}: no row is wider than the whole`,
    [...levels.values()].every((w) => w <= 100.001),
    [...levels],
  );
  check(`${name}: few enough elements`, widths.length <= 3001, widths.length);
}

async function checkKeys(name, page) {
  await page.focus('#frames [tabindex="0"]');
  const level = () => page.evaluate(() => Number(document.activeElement.getAttribute('aria-level')));
  const label = () => page.evaluate(() => document.activeElement.getAttribute('aria-label'));
  await page.keyboard.press('Home');
  check(`${name}: Home is all of it`, (await label()).startsWith('all, 100.0 %'), await label());
  await page.keyboard.press('ArrowUp');
  check(`${name}: up goes in, in a flame graph`, (await level()) === 2, await label());
  const before = await label();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowLeft');
  check(`${name}: right and left`, (await label()) === before, [before, await label()]);
  await page.keyboard.press('Enter');
  const width = await page.evaluate(() => parseFloat(document.activeElement.style.width));
  check(`${name}: Enter zooms`, width === 100 && !(await page.$eval('#flame-reset', (b) => b.disabled)), width);
  await page.keyboard.press('Escape');
  check(`${name}: Escape shows all`, await page.$eval('#flame-reset', (b) => b.disabled), '');
  await page.click('#flame-down');
  const top = await page.$eval('#frames [aria-level="1"]', (e) => e.style.top);
  check(`${name}: an icicle hangs from the top`, top === '0px', top);
  await page.focus('#frames [tabindex="0"]');
  await page.keyboard.press('ArrowDown');
  check(`${name}: down goes in, in an icicle`, (await level()) === 2, await label());
  await page.click('#flame-up');
}

// By Tab alone everything that is to be used is reached, and says what it is.
async function checkTabs(name, page) {
  const names = [];
  for (let i = 0; i < 120; i++) {
    await page.keyboard.press('Tab');
    names.push(
      await page.evaluate(
        () =>
          document.activeElement.id || document.activeElement.getAttribute('role') || document.activeElement.tagName,
      ),
    );
    if (names.at(-1) === 'BODY' && i > 3) break;
  }
  for (const want of ['metric', 'search', 'theme', 'treeitem', 'flame-up', 'source-choice']) {
    check(
      `${name}: Tab reaches ${want}`,
      names.includes(want) || (want === 'source-choice' && names.length === 120),
      names,
    );
  }
}

async function checkFunctions(name, page, report) {
  const rows = () =>
    page.$$eval('#function-table tbody tr', (all) => all.map((r) => [...r.cells].map((c) => c.textContent)));
  const heads = () =>
    page.$$eval('#function-table thead th', (all) => all.map((h) => [h.dataset.key, h.getAttribute('aria-sort')]));
  const names = (await heads()).map((h) => h[0]);
  const at = names.indexOf('name'),
    share = names.indexOf('share');
  const first = await rows();
  const primary =
    report.functions[0].slots !== null && report.profile.source !== 'hybrid' ? 'slots_share' : 'time_share';
  first.forEach((row, i) =>
    check(`${name}: function ${i}`, near(number(row[share]), 100 * report.functions[i][primary], 0.051), [
      row,
      report.functions[i],
    ]),
  );
  check(`${name}: names are there`, first.length > 0 && first.every((r) => r[at].length > 0), first.length);
  for (const key of names) {
    for (const order of ['one', 'other']) {
      await page.click(`#function-table [data-key="${key}"] button`);
      const now = (await heads()).find((h) => h[0] === key)[1];
      check(`${name}: sorted by ${key}`, ['ascending', 'descending'].includes(now), [order, now]);
      const cells = (await rows()).map((r) => r[names.indexOf(key)]).filter((t) => t !== '' && !t.startsWith('<'));
      if (key === 'name') {
        const sorted = [...cells].sort((a, b) => a.localeCompare(b) * (now === 'ascending' ? 1 : -1));
        check(`${name}: the order of names`, JSON.stringify(sorted) === JSON.stringify(cells), cells);
      } else if (key === 'share') {
        check(
          `${name}: the order of shares`,
          cells.every((c, i) => i === 0 || (number(cells[i - 1]) - number(c)) * (now === 'ascending' ? -1 : 1) >= 0),
          cells,
        );
      }
    }
  }
  check(
    `${name}: the header keeps the focus`,
    await page.evaluate(() => document.activeElement.tagName === 'BUTTON'),
    '',
  );
}

async function checkSearch(name, page, word) {
  await page.focus('#main');
  await page.keyboard.press('/');
  await page.keyboard.type(word);
  await page.waitForFunction(() => document.getElementById('found').textContent.includes('%'));
  const found = await page.$eval('#found', (e) => e.textContent);
  check(`${name}: ${word} is found`, number(found.split(':')[1].split('%')[0]) > 0, found);
  check(`${name}: matches are marked`, (await page.$$('.frame.match')).length > 0, found);
  const names = await texts(page, '#function-table tbody .name');
  check(
    `${name}: the table has what was searched`,
    names.length > 0 && names.every((n) => n.toLowerCase().includes(word)),
    names,
  );
  await page.keyboard.press('Escape');
  check(`${name}: Escape ends the search`, (await page.$$('.frame.match')).length === 0, '');
}

async function checkTime(name, page) {
  if (!(await page.$('#clock'))) {
    check(
      `${name}: says why there are no times`,
      /no times/.test(await page.$eval('#time-body', (e) => e.textContent)),
      '',
    );
    return;
  }
  await page.$eval('#clock', (e) => e.focus());
  await page.keyboard.press('ArrowRight');
  const step = await page.$eval('#step', (e) => e.textContent);
  check(`${name}: a moment has figures`, / to .*:/.test(step), step);
}

async function checkDiff(name, page) {
  const shown = await page.$eval('#diff', (e) => !e.hidden);
  check(`${name}: compared only where it was asked for`, shown === (name === 'diff'), shown);
  if (!shown) return;
  const body = await page.$eval('#diff-body', (e) => e.textContent);
  check(`${name}: says slower or faster`, /slower|faster/.test(body), body.slice(0, 300));
  const rows = await texts(page, '#diff-functions tbody tr');
  check(`${name}: says what takes more`, rows.some((r) => r.includes('more') && r.includes('dram_bound')), rows);
  await page.select('#colour', 'change');
  check(`${name}: frames in the colour of their change`, (await page.$$('.frame.c-change2, .frame.c-change1')).length > 0, '');
  const words = await page.$eval('#detail-change', (e) => e.textContent);
  check(`${name}: before and now`, /Before: .*Now: /.test(words), words);
  await audit(`${name}, by change`, page);
  await page.select('#colour', 'cause');
}

// Each level of categories, instructions, and each colouring: all of it is legible.
async function checkAllColours(name, page) {
  const options = (id) => page.$$eval(`#${id} option`, (all) => all.map((o) => o.value)).catch(() => []);
  await page.$$eval('#show-asm, #all-functions, [id^="level-"]:last-child', (all) => all.forEach((e) => e.click()));
  for (const value of (await options('metric')).slice(-1)) await page.select('#metric', value);
  for (const value of await options('colour')) {
    await page.select('#colour', value);
    await audit(`${name}, by ${value}`, page);
  }
  await audit(`${name}, all columns`, page);
}

async function checkTheme(name, page) {
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const before = await paper();
  await page.click('#theme');
  check(`${name}: the other colours`, (await paper()) !== before, before);
  await page.click('#theme');
  check(`${name}: and back`, (await paper()) === before, await paper());
}

async function checkPage(browser, { name, page: file, report: reportFile }) {
  const report = JSON.parse(fs.readFileSync(reportFile, 'utf8'));
  for (const [scheme, width, scale] of [
    ['light', 1280, 1],
    ['dark', 1280, 2],
    ['light', 360, 1],
  ]) {
    const { page, seen } = await openPage(browser, name, file, scheme, width, scale);
    if (width === 1280) await audit(`${name}, ${scheme}`, page);
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    check(`${name}: nothing sticks out (${width / scale})`, overflow <= 0, overflow);
    if (scheme === 'light' && width === 1280) {
      await checkTabs(name, page);
      await checkTree(name, page, report);
      await checkFunctions(name, page, report);
      await checkFlame(name, page, report);
      await checkKeys(name, page);
      await checkTime(name, page);
      await checkDiff(name, page);
      await checkTheme(name, page);
      if (name === 'sim' || name === 'pmu') await checkSearch(name, page, 'chase');
      await audit(`${name}, after use`, page);
    }
    if (scheme === 'dark') await checkAllColours(name, page);
    check(`${name}: no request leaves the page`, seen.requests.length === 0, seen.requests);
    check(`${name}: no error, and nothing that the policy stopped`, seen.errors.length === 0, seen.errors);
    check(
      `${name}: no name ran as code`,
      await page.evaluate(() => window.pwned === undefined && !document.querySelector('img')),
      '',
    );
    await page.close();
  }
}

// Without scripts the verdict can be read.
async function checkPlain(browser, { name, page: file, report: reportFile }) {
  const report = JSON.parse(fs.readFileSync(reportFile, 'utf8'));
  const page = await browser.newPage();
  await page.setJavaScriptEnabled(false);
  await page.goto(`file://${file}`);
  const text = await page.$eval('noscript', (e) => e.textContent);
  const high = (report.verdict && report.verdict.high) || [];
  check(
    `${name}: the verdict without scripts`,
    high.every((n) => text.includes(n.id)),
    text.slice(0, 300),
  );
  await page.close();
}

async function main() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'page-'));
  const browser = await puppeteer.launch({
    executablePath: chromium,
    headless: true,
    userDataDir: path.join(folder, 'chromium'),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
  for (const page of pages) {
    await checkPage(browser, page);
    await checkPlain(browser, page);
  }
  await browser.close();
  fs.rmSync(folder, { recursive: true, force: true });
  console.log(`${problems} problems`);
  process.exitCode = problems ? 1 : 0;
}

main().catch((e) => {
  console.error(e);
  process.exit(1);
});
