// Takes a picture of a report: node shot.mjs CHROMIUM REPORT.html OUT.png|OUT.jpg|OUT.pdf [WIDTH [HEIGHT [light|dark]]]
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, report, out, width = "1440", height = "900", colorScheme = "light"] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: process.getuid() === 0 ? ["--no-sandbox"] : [] });
try {
  const page = await browser.newPage({ viewport: { width: Number(width), height: Number(height) }, colorScheme });
  await page.goto(pathToFileURL(resolve(report)).href);
  if (out.endsWith(".pdf")) await page.pdf({ path: out, format: "A4" });
  else await page.screenshot(out.endsWith(".jpg") ? { path: out, quality: 55 } : { path: out });
} finally {
  await browser.close();
}
