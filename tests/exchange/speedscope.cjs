// SPDX-License-Identifier: MIT
// Opens a file in npm's speedscope in headless Chromium and prints what it shows: for each profile
// the total of the outermost function in the sandwich view, errors, and whether a name ran as code.
// usage: node speedscope.cjs NODE_MODULES CHROMIUM FILE
const fs = require('fs');
const os = require('os');
const path = require('path');

const [modules, chromium, file] = process.argv.slice(2).map((p) => path.resolve(p));
const puppeteer = require(path.join(modules, 'puppeteer-core'));
const page_path = path.join(modules, 'speedscope', 'dist', 'release', 'index.html');

function wrapped(folder) {
  const data = JSON.stringify(fs.readFileSync(file).toString('base64'));
  const target = path.join(folder, 'profile.js');
  fs.writeFileSync(target,
    `speedscope.loadFileFromBase64(${JSON.stringify(path.basename(file))}, ${data})`);
  return target;
}

// The rows of the table are "TOTAL (PERCENT)" cells; the first of 100 % is the outermost function's.
async function shown_total(page) {
  await page.waitForFunction(() => /\(100(\.0+)?%\)/.test(document.body.innerText),
    { timeout: 20000 });
  const text = await page.evaluate(() => document.body.innerText);
  const match = text.match(/([\d,.]+)[^\d(\n]*\s*\(100(\.0+)?%\)/);
  return Number(match[1].replace(/,/g, ''));
}

async function main() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'speedscope-'));
  const browser = await puppeteer.launch({
    executablePath: chromium, headless: true, userDataDir: path.join(folder, 'chromium'),
    args: ['--no-sandbox', '--allow-file-access-from-files', '--use-gl=swiftshader',
      '--enable-unsafe-swiftshader'],
  });
  const page = await browser.newPage();
  const errors = [];
  const totals = [];
  page.on('pageerror', (e) => errors.push(e.message));
  await page.goto(`file://${page_path}#localProfilePath=${wrapped(folder)}`, { waitUntil: 'load' });
  const count = JSON.parse(fs.readFileSync(file)).profiles.length;
  await page.waitForFunction((n) => document.body.innerText.includes(`(1/${n})`),
    { timeout: 20000 }, count);
  await page.keyboard.press('3'); // the sandwich view
  for (let i = 0; i < count; i++) {
    await page.waitForFunction((t) => document.body.innerText.includes(t), { timeout: 20000 },
      `(${i + 1}/${count})`);
    totals.push(await shown_total(page));
    await page.keyboard.press('n'); // the next profile
  }
  const pwned = await page.evaluate(() => window.__pwn !== undefined);
  console.log(JSON.stringify({ totals, errors, pwned }));
  await browser.close();
  fs.rmSync(folder, { recursive: true, force: true });
}

main().catch((e) => { console.error(e); process.exit(1); });
