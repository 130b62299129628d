// Debian's Chromium under test, with nothing of its own that would go to a network.
import { existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const out = join(root, "out/browser");
export const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

export async function launch() {
  if (!existsSync(CHROMIUM)) throw new Error(`no browser at ${CHROMIUM}`);
  mkdirSync(out, { recursive: true });
  return chromium.launch({
    executablePath: CHROMIUM,
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

// Opens a file in a context of its own and waits until the page is ready. `faults` gathers errors
// of the page and requests beyond the file itself.
export async function open(browser, file, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const faults = [];
  const url = pathToFileURL(file).href;
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning")
      faults.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("request", (request) => {
    const asked = request.url().split("#")[0];
    if (asked !== url && !asked.startsWith("data:")) faults.push(`request: ${asked}`);
  });
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.goto(url + (options.hash ?? ""));
  await page.waitForSelector("html[data-ready]", { state: "attached", timeout: 60000 });
  return { page, faults, close: () => context.close() };
}
