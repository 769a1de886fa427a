// Opens rendered reports in Chromium and prints one JSON line for each problem.
//
//	node check.mjs CHROMIUM DIR
//
// DIR holds NAME.html, and NAME.json with what is expected of it: {"findings": N, "interactive": true|false, "fleet": true|false, ...}.
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const [executablePath, dir] = process.argv.slice(2);
const flags = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", ...(process.getuid() === 0 ? ["--no-sandbox"] : [])];

let where = "";
const problem = (what, detail) => console.log(JSON.stringify({ where, what, detail: String(detail).slice(0, 2000) }));
const expect = (ok, what, detail = "") => { if (!ok) problem(what, detail); };

// open loads a page and reports whatever it says, asks for or fails with.
async function open(context, url) {
  const page = await watched(context);
  await load(page, url);
  return page;
}

// watched is a page of which all of that is reported. To load several in one spares a process of the browser for each.
async function watched(context) {
  const page = await context.newPage();
  page.on("console", (m) => problem("console message", m.text()));
  page.on("pageerror", (e) => problem("script error", e));
  page.on("dialog", (d) => { problem("dialog", d.message()); d.dismiss(); });
  page.on("request", (r) => { if (r.url() !== loaded.get(page) && !r.url().startsWith("data:image/svg+xml")) problem("request", r.url()); });
  page.on("popup", (p) => problem("window", p.url()));
  return page;
}

const loaded = new WeakMap(); // the address that a page may ask for

async function load(page, url) {
  loaded.set(page, url);
  await page.goto(url);
}

// structure is what must hold at every width and in both themes.
async function structure(page) {
  const seen = await page.evaluate(() => {
    const levels = [...document.querySelectorAll("h1,h2,h3,h4,h5,h6")].map((h) => Number(h.tagName[1]));
    return {
      overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      skipped: levels.filter((l, i) => l > (levels[i - 1] || 0) + 1),
      first: levels[0],
      pwned: typeof window.pwned,
      landmarks: ["header", "nav", "main", "footer"].filter((l) => document.querySelectorAll("body > " + l + ", body > .body > " + l).length !== 1),
      captions: [...document.querySelectorAll("table")].filter((t) => !t.caption || t.querySelector("thead th:not([scope=col])")).length,
      pictures: [...document.querySelectorAll("svg[role=img]")].filter((s) => !s.getAttribute("aria-label")).length,
      styled: document.querySelectorAll("[style]").length,
    };
  });
  expect(seen.overflow <= 0, "horizontal scroll", seen.overflow);
  expect(seen.skipped.length === 0 && seen.first === 1, "headings out of order", JSON.stringify(seen));
  expect(seen.pwned === "undefined", "text of the node ran as a script");
  expect(seen.landmarks.length === 0, "landmarks", seen.landmarks);
  expect(seen.captions === 0, "tables without caption or scope", seen.captions);
  expect(seen.pictures === 0, "pictures without words", seen.pictures);
  expect(seen.styled === 0, "inline styles", seen.styled);
}

// firstScreen: the headline, the affected pods and the first command of the first diagnosis are on the first screen of a laptop.
async function firstScreen(page, url) {
  await page.setViewportSize({ width: 1200, height: 900 });
  await load(page, url);
  for (const part of ["#diagnosis-1 > h3", "#diagnosis-1 > .facts", "#diagnosis-1 .cmd"]) {
    const first = page.locator(part).first();
    if (await first.count() === 0) continue;
    const box = await first.boundingBox();
    expect(box && box.y + box.height <= 900, "not on the first screen", part + " " + JSON.stringify(box));
  }
  expect(await page.locator("#diagnosis-1 .cmd").count() > 0, "the first diagnosis has no command");
}

// firstCause: the first cause, since when, on how many nodes, and the way to the first node's page are on the first screen.
async function firstCause(page, url) {
  for (const [width, height] of [[1200, 900], [390, 844]]) {
    await page.setViewportSize({ width, height });
    await load(page, url);
    for (const part of ["#cause-1 > h3", "#cause-1 .sev", "#cause-1 .sev a"]) {
      const box = await page.locator(part).first().boundingBox();
      expect(box && box.y + box.height <= height, "not on the first screen of " + width + " px", part + " " + JSON.stringify(box));
    }
  }
}

// fleet tries what a summary of many nodes can do.
async function fleet(browser, url) {
  const context = await browser.newContext();
  const page = await open(context, url);
  const names = () => page.locator("#nodes tbody tr").evaluateAll((rows) => rows.map((r) => r.cells[0].textContent));
  const header = page.locator("#nodes thead th").first();
  const all = await names();
  await header.locator("button").focus();
  for (const direction of ["ascending", "descending"]) {
    await page.keyboard.press("Enter");
    const list = await names(), want = [...all].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    if (direction === "descending") want.reverse();
    expect(list.join() === want.join() && await header.getAttribute("aria-sort") === direction, "sort of nodes by keyboard, " + direction, list);
  }
  await page.fill("#nodes .find input", "worker-1");
  await page.waitForFunction(() => document.querySelector("#nodes .find .n").textContent !== "");
  const left = await visible(page, "#nodes tbody tr");
  expect(left > 0 && left < all.length, "search of nodes", left + " of " + all.length);
  await page.locator("#nodes tbody a[href^='#cause-']:visible").first().click();
  expect(/#cause-\d+$/.test(page.url()), "the way to a cause", page.url());
  await context.close();

  const other = await browser.newContext();
  const from = await other.newPage();
  await from.goto(url);
  await from.locator("#cause-1 tbody a").first().click();
  await from.waitForSelector("#diagnosis-1");
  expect(from.url().endsWith("/hung-mount.html"), "the way to the page of a node", from.url());
  await other.close();
}

async function accessibility(page) {
  await page.evaluate(axe);
  const result = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  for (const v of result.violations) {
    problem("axe: " + v.id + " (" + v.impact + ")", v.help + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + " " + n.failureSummary).join(" / "));
  }
}

// text drawn in a picture must stay inside its box, whatever font the system has.
async function pictures(page) {
  const out = await page.evaluate(() => [...document.querySelectorAll("svg[role=img]")].flatMap((svg) =>
    [...svg.querySelectorAll("g.box")].flatMap((g) => {
      const box = g.querySelector(".face").getBBox();
      return [...g.querySelectorAll("text")].filter((t) => {
        const b = t.getBBox();
        return b.width > 0 && (b.x < box.x || b.x + b.width > box.x + box.width || b.y + b.height > box.y + box.height);
      }).map((t) => t.textContent);
    })));
  expect(out.length === 0, "text leaves its box", out.slice(0, 3).join(" | "));
  const clash = await page.evaluate(() => [...document.querySelectorAll(".timeline svg")].flatMap((svg) => {
    const view = svg.viewBox.baseVal;
    const texts = [...svg.querySelectorAll("text")].map((t) => ({ t, b: t.getBBox() }));
    return texts.filter(({ t, b }, i) => b.x < 0 || b.x + b.width > view.width || b.y + b.height > view.height ||
      texts.slice(0, i).some((o) => b.x < o.b.x + o.b.width && o.b.x < b.x + b.width && b.y + 3 < o.b.y + o.b.height && o.b.y + 3 < b.y + b.height))
      .map(({ t }) => t.textContent);
  }));
  expect(clash.length === 0, "words of the timeline leave it or cover each other", clash.slice(0, 3).join(" | "));
}

// contrast of words in pictures, which axe does not look at: 4.5 at least (WCAG 2.2, 1.4.3).
async function contrast(page) {
  const faint = await page.evaluate(() => {
    const parse = (c) => (c.match(/[\d.]+/g) || []).map(Number);
    const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
      .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = (t, svg) => {
      const circle = t.parentNode.querySelector("circle");
      if (circle && t.parentNode.matches(".dot")) return parse(getComputedStyle(circle).fill);
      const rect = svg.closest(".timeline") ? svg.querySelector("rect.lane") : t.closest("g") && t.closest("g").querySelector("rect");
      if (rect) return parse(getComputedStyle(rect).fill);
      for (let e = svg; e; e = e.parentElement) {
        const c = parse(getComputedStyle(e).backgroundColor);
        if (c.length === 3 || c[3] > 0) return c;
      }
      return [255, 255, 255];
    };
    const seen = new Map();
    for (const svg of document.querySelectorAll("svg[role=img]")) {
      for (const t of [...svg.querySelectorAll("text")].slice(0, 200)) {
        const fore = parse(getComputedStyle(t).fill), back = behind(t, svg), key = fore + "/" + back;
        if (seen.has(key)) continue;
        const [a, b] = [light(fore), light(back)].sort((x, y) => y - x);
        seen.set(key, (a + 0.05) / (b + 0.05) < 4.5 ? key + " " + t.textContent : "");
      }
    }
    return [...seen.values()].filter(Boolean);
  });
  expect(faint.length === 0, "words in pictures are faint", faint.slice(0, 3).join(" | "));
}

const visible = (page, selector) => page.locator(selector).evaluateAll((list) => list.filter((e) => e.checkVisibility()).length);

async function filter(page, findings) {
  expect(await visible(page, ".finding") === findings, "not all findings are shown at first");
  const first = page.locator(".finding code").first();
  const check = await first.textContent();
  await page.fill("#f-text", check);
  const some = await visible(page, ".finding");
  expect(some >= 1 && some < findings, "filter by text", some);
  await page.fill("#f-text", "no finding says this");
  expect(await visible(page, ".finding") === 0, "filter by text that is nowhere");
  expect((await page.textContent("#f-count")).startsWith("0 of "), "the count does not follow");
  await page.fill("#f-text", "");
  await page.uncheck("input[name=sev][value=critical]");
  expect(await visible(page, ".finding[data-sev=critical]") === 0, "filter by severity");
  expect(await visible(page, ".finding[data-sev=warning]") > 0, "filter by severity hides the others");
  await page.check("input[name=sev][value=critical]");
  await page.selectOption("#f-entity", { index: 1 });
  const about = await visible(page, ".finding");
  expect(about >= 1 && about < findings, "filter by entity", about);
  await page.selectOption("#f-entity", "");
  expect(await visible(page, ".finding") === findings, "the filter does not let go");
}

async function sort(page) {
  const table = page.locator("#coverage table");
  const column = () => table.locator("tbody tr").evaluateAll((rows) => rows.map((r) => Number(r.cells[3].dataset.v)));
  const header = table.locator("thead th").nth(3);
  const ordered = (list, sign) => list.every((v, i) => i === 0 || sign * (v - list[i - 1]) >= 0);
  await header.locator("button").click();
  expect(ordered(await column(), 1) && await header.getAttribute("aria-sort") === "ascending", "sort upwards");
  await header.locator("button").focus();
  await page.keyboard.press("Enter");
  expect(ordered(await column(), -1) && await header.getAttribute("aria-sort") === "descending", "sort downwards, by keyboard");
}

async function search(page) {
  await page.locator("#mounts details.table > summary").first().click();
  const rows = page.locator("#mounts tbody tr");
  const all = await rows.count();
  await page.fill("#mounts .find input", "ceph-fuse hung");
  await page.waitForFunction(() => document.querySelector("#mounts .find .n").textContent !== "");
  const left = await visible(page, "#mounts tbody tr");
  expect(left === 1 && all > 1, "search in a table", left + " of " + all);
}

async function copy(page, how) {
  for (const kind of ["plain", "markdown"]) {
    const id = "ticket-1-" + kind;
    await page.locator(`button[data-copy=${id}]`).click();
    await page.waitForFunction((id) => document.querySelector(`button[data-copy=${id}]`).textContent === "Copied", id);
    const want = await page.locator("#" + id).textContent();
    const got = await page.evaluate(() => window.readBack());
    expect(want.length > 200 && got === want, "copy as " + kind + " by " + how, got);
  }
}

// reveal follows a link to a row in a folded table.
async function reveal(page) {
  const link = page.locator(".tree a[href^='#mount-']").first();
  const id = (await link.getAttribute("href")).slice(1);
  await link.click();
  await page.waitForFunction((id) => document.getElementById(id).checkVisibility(), id);
}

// zoom into the flame graph and out again.
async function zoom(page) {
  await page.locator(".flame summary").click();
  const widths = () => page.locator(".flame g:not([hidden]) rect").evaluateAll((list) => list.map((r) => Number(r.getAttribute("width"))));
  const before = await widths();
  const bar = page.locator(".flame g").nth(2);
  await bar.click();
  const into = await bar.locator("rect").getAttribute("width");
  expect(Number(into) > 1000 && (await widths()).length < before.length, "zoom into the flame graph", into);
  await page.locator(".flame g").first().click();
  const after = await widths();
  expect(after.length === before.length && after.every((w, i) => Math.abs(w - before[i]) < 1), "zoom out of the flame graph", after.join());

  await page.locator(".flame .scroll").first().focus();
  for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
  const said = await page.locator("#say").textContent();
  const title = await page.locator(".flame g.at title").first().textContent();
  expect(said === title && (await widths()).length <= before.length, "the flame graph with the keyboard", said + " / " + title);
  await page.keyboard.press("Escape");
  expect((await widths()).length === before.length, "out of the flame graph with the keyboard");
}

async function interact(browser, url, want) {
  const context = await browser.newContext({ permissions: ["clipboard-read", "clipboard-write"] });
  await context.addInitScript(() => { window.readBack = () => navigator.clipboard.readText(); });
  const page = await open(context, url);
  await page.keyboard.press("Tab");
  expect(await page.evaluate(() => document.activeElement.className) === "skip", "the first tab stop is not the skip link");
  await filter(page, want.findings);
  await sort(page);
  await reveal(page);
  await zoom(page);
  await copy(page, "clipboard");
  await context.close();

  // A page in a sandbox may not use the clipboard.
  const closed = await browser.newContext({ permissions: ["clipboard-read"] });
  await closed.addInitScript(() => {
    const clipboard = navigator.clipboard;
    window.readBack = () => clipboard.readText();
    Object.defineProperty(navigator, "clipboard", { value: undefined });
  });
  const other = await open(closed, url);
  await search(other);
  await copy(other, "command");
  await closed.close();
}

// withoutScripts: everything is there, and nothing that would not work.
async function withoutScripts(browser, url) {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await open(context, url);
  expect(await page.locator("button:visible, form:visible").count() === 0, "controls that do nothing without scripts");
  expect(await page.locator("main h2:visible").count() >= 5, "the page is empty without scripts");
  await context.close();
}

const browser = await chromium.launch({ executablePath, args: flags });
try {
  const page = await watched(await browser.newContext());
  for (const [n, file] of readdirSync(dir).filter((f) => f.endsWith(".html")).sort().entries()) {
    const name = file.replace(/\.html$/, "");
    const url = pathToFileURL(join(dir, file)).href;
    const want = JSON.parse(readFileSync(join(dir, name + ".json"), "utf8"));
    const views = want.brief ? [[1440, "light"], [390, "dark"]] : [[1440, "light"], [390, "light"], [800, "dark"], [390, "dark"]];
    const strict = want.brief ? [n % 2] : [0, views.length - 1]; // views in which the rules of axe are tried: they take seconds
    for (const [i, [width, colorScheme]] of views.entries()) {
      where = `${name}, ${width} px, ${colorScheme}`;
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      await load(page, url);
      await structure(page);
      await pictures(page);
      await contrast(page);
      if (!want.large && strict.includes(i)) await accessibility(page);
    }
    if (!want.brief) {
      where = name + ", without scripts";
      await withoutScripts(browser, url);
    }
    if (want.first_screen) {
      where = name + ", first screen";
      await (want.fleet ? firstCause : firstScreen)(page, url);
    }
    if (want.fleet) {
      where = name + ", in use";
      await fleet(browser, url);
    }
    if (want.interactive) {
      where = name + ", in use";
      await interact(browser, url, want);
    }
    where = name;
  }
  console.log(JSON.stringify({ done: true }));
} finally {
  await browser.close();
}
