// Makes a picture for docs/images from a report.
//
//   node tests/browser/picture.mjs [REPORT.html]         report.png, with the timeline: of the demo, unless another is named
//   node tests/browser/picture.mjs REPORT.html NAME.png  what the page opens on
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launch, open, root } from "./browser.mjs";

const file = process.argv[2] ?? join(root, "out/demo/report.html");
const folder = join(root, "docs/images");
mkdirSync(folder, { recursive: true });
const browser = await launch();
const { page } = await open(browser, file, { colorScheme: "light" });
if (process.argv[3]) {
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.screenshot({ path: join(folder, process.argv[3]) });
  await browser.close();
  process.exit();
}
// The page after a reader chose a run, looked at its timeline, and scrolled past the rest.
const labels = await page.locator(".top select option").allInnerTexts();
await page
  .locator(".top select")
  .selectOption({ index: Math.max(0, labels.indexOf("gandiva-fair")) });
await page.evaluate(() => {
  for (const id of ["job-by-job", "load", "users", "trades", "placements", "network", "jobs"])
    document.getElementById(id)?.toggleAttribute("hidden", true);
  document.querySelector("#summary .compare").closest("#summary > div").hidden = true;
  document
    .querySelectorAll("#timeline .note, #timeline h3")
    .forEach((part) => (part.hidden = true));
  document.querySelector("#timeline .map").parentElement.hidden = true;
  document.querySelector("footer").hidden = true;
});
const timeline = page.locator("#timeline .canvas-box").first();
await timeline.focus();
for (let i = 0; i < 7; i++) await page.keyboard.press("+");
for (let i = 0; i < 1; i++) await page.keyboard.press(".");
await page.evaluate(() => {
  document.activeElement.blur();
  scrollTo(0, 0);
});
const height = await page.evaluate(() => document.getElementById("report").offsetHeight);
await page.setViewportSize({ width: 1280, height });
await page.screenshot({ path: join(folder, "report.png") });
await browser.close();
