// The actions of a reader, by pointer and by keys.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { launch } from "./browser.mjs";
import { files, frames, jobIsShown, on, plain, text, timeline } from "./fixtures.mjs";

const view = (page) => timeline(page).getAttribute("aria-label");

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

describe("the timeline", () => {
  test("zooms and moves by keys, and shows single GPUs when near", async () => {
    await on(browser, files.plain, {}, async (page) => {
      const whole = await view(page);
      await timeline(page).focus();
      for (let i = 0; i < 4; i++) await page.keyboard.press("+");
      await frames(page);
      const near = await view(page);
      assert.notEqual(near, whole);
      await page.keyboard.press("Shift+ArrowLeft");
      await frames(page);
      assert.notEqual(await view(page), near);
      for (let i = 0; i < 4; i++) await page.keyboard.press(".");
      await frames(page);
      assert.match(await view(page), /: \d\d of 192 GPUs/);
      assert.match(await text(page.locator("#timeline")), /A row is a GPU/);
      await page.keyboard.press("0");
      await frames(page);
      assert.equal(await view(page), whole);
    });
  });

  test("moves by dragging, and by the wheel only when asked", async () => {
    await on(browser, files.plain, {}, async (page) => {
      await timeline(page).scrollIntoViewIfNeeded();
      const { x, y, width, height } = await timeline(page).boundingBox();
      const whole = await view(page);
      await page.mouse.move(x + width / 2, y + height / 3);
      await page.mouse.wheel(0, -10);
      await frames(page);
      assert.equal(await view(page), whole, "without focus the wheel scrolls the page");
      await timeline(page).focus();
      await page.mouse.wheel(0, -300);
      await frames(page);
      const near = await view(page);
      assert.notEqual(near, whole);
      await page.mouse.down();
      await page.mouse.move(x + width / 2 - 80, y + height / 3, { steps: 4 });
      await page.mouse.up();
      await frames(page);
      assert.notEqual(await view(page), near);
    });
  });

  test("tells who is under the cursor, shares it with the map, and opens the job", async () => {
    await on(browser, files.plain, {}, async (page) => {
      const line = page.locator(".cursor-line");
      const { holds: jobRuns } = plain.runs[0];
      const longest = jobRuns.job.map((_, i) => jobRuns.end_s[i] - jobRuns.begin_s[i]);
      const jobRun = longest.indexOf(Math.max(...longest));
      const [t, end] = [(jobRuns.begin_s[jobRun] + jobRuns.end_s[jobRun]) / 2, Math.max(...jobRuns.end_s)];
      const id = plain.jobs.id[jobRuns.job[jobRun]];
      await timeline(page).scrollIntoViewIfNeeded();
      const { x, y, width, height } = await timeline(page).boundingBox();
      const left = 120; // the sample's nodes are in the order shown, so its GPUs are places
      await page.mouse.click(
        x + left + ((width - left - 2) * t) / end,
        y + ((height - 24) * (jobRuns.gpu[jobRun] + 0.5)) / 192,
      );
      assert.match(await line.innerText(), new RegExp(id));
      await page.locator(".map").focus();
      await page.keyboard.press("Enter");
      await jobIsShown(page, id);
    });
  });

  test("follows the time slider", async () => {
    await on(browser, files.plain, {}, async (page) => {
      const slider = page.getByLabel("Time of cursor and map");
      await slider.focus();
      await page.keyboard.press("Home");
      assert.match(await text(page.locator(".cursor-line")), /at 0 s/);
      assert.match(await text(page.locator("#timeline")), /At 0 s, \d+ of 192 GPUs are in use/);
    });
  });
});

describe("a reader with a keyboard", () => {
  test("reaches every control, chart and table by Tab, and sees where the focus is", async () => {
    await on(browser, files.plain, {}, async (page) => {
      const wanted = [
        ".top select",
        ".top nav a",
        ".compare button",
        ".chip",
        ".chart",
        ".scroller",
        "#users button",
        "input[type=range]",
        ".tools button",
        "#timeline .canvas-box",
        ".map",
        "#job-filter",
        ".virtual",
        "tr[data-row]",
      ];
      const reached = new Set();
      for (let i = 0; i < 160 && reached.size < wanted.length; i++) {
        await page.keyboard.press("Tab");
        const now = await page.evaluate((selectors) => {
          const element = document.activeElement;
          const outline = getComputedStyle(element).outlineStyle;
          return { hits: selectors.filter((s) => element.matches(s)), outline };
        }, wanted);
        now.hits.forEach((s) => reached.add(s));
        assert.notEqual(now.outline, "none");
      }
      assert.deepEqual(
        wanted.filter((s) => !reached.has(s)),
        [],
      );
    });
  });

  test("walks through jobs with arrows and opens one with Enter", async () => {
    await on(browser, files.plain, {}, async (page) => {
      await page.locator("#jobs tbody tr[data-row]").first().focus();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("End");
      assert.match(await page.evaluate(() => document.activeElement.textContent), /job-00399/);
      await page.keyboard.press("Enter");
      await jobIsShown(page, "job-00399");
    });
  });

  test("hears the values of a chart", async () => {
    await on(browser, files.plain, {}, async (page) => {
      await page.locator("#load .chart").first().focus();
      await page.keyboard.press("PageDown");
      const tip = page.locator("#load .chart").first().locator(".tip");
      assert.match(await text(tip), /% +fifo/);
    });
  });
});
