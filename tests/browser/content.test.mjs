// The text of the report, about the runs and about single jobs.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { launch, open, out } from "./browser.mjs";
import { files, jobIsLeft, jobIsShown, on, plain, template, text, write } from "./fixtures.mjs";

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

// The number of colours on the canvas of each chart that is laid out.
function coloursOfCanvases(page) {
  return page.evaluate(() =>
    [...document.querySelectorAll(".chart canvas, .canvas-box canvas")]
      .filter((canvas) => canvas.clientWidth > 0)
      .map((canvas) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        const seen = new Set();
        for (let i = 0; i < data.length; i += 4)
          seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
        return {
          inside: canvas.closest("figure, section").textContent.slice(0, 40),
          colours: seen.size,
        };
      }),
  );
}

describe("the page", () => {
  test("loads nothing, logs nothing, and draws marks in every chart", async () => {
    for (const file of [files.few, files.plain]) {
      await on(browser, file, {}, async (page) => {
        const canvases = await coloursOfCanvases(page);
        assert.ok(canvases.length >= 9, `${canvases.length} canvases`);
        for (const { inside, colours } of canvases)
          assert.ok(colours > 4, `${inside}: ${colours} colours`);
      });
    }
  });

  test("opens on the answer of the comparison, with a word for a warning", async () => {
    await on(browser, files.answered, {}, async (page) => {
      const first = page.locator("main > section").first();
      assert.match(await text(first), /^The answer\s+Shortest mean wait: fairlead, 36 min ± 12 min\./);
      assert.match(await text(first.locator("li").nth(1)), /^Look at this: A decision/);
      assert.equal(await first.locator("li").count(), 2);
    });
    await on(browser, files.few, {}, async (page) => {
      assert.equal(await page.locator("#answer").count(), 0);
    });
  });

  test("names commands and input hashes at its foot", async () => {
    await on(browser, files.answered, {}, async (page) => {
      await page.locator("footer summary").click();
      assert.match(
        await text(page.locator("footer details")),
        /fifo, made by fairlead 0\.0\.9 \(abc\), inputs 0123456789abcdef: fairlead simulate --policy=fifo/,
      );
      assert.match(await text(page.locator("footer")), /^The page was made by fairlead 0\.1\.0\./);
    });
    await on(browser, files.dated, {}, async (page) => {
      assert.match(await text(page.locator("footer")), /^Page and runs were made by fairlead 0\.1\.0\./);
    });
  });

  test("shows dates if the trace has a calendar", async () => {
    await on(browser, files.dated, {}, async (page) => {
      assert.match(
        await text(page.locator("header")),
        /The first submission is at 2026-09-30 21:40; dates are in UTC\./,
      );
      assert.match(await text(page.locator("#load .finding").first()), /at 2026-\d\d-\d\d \d\d:\d\d\.$/);
      assert.match(await text(page.locator("#jobs")), /2026-09-30 21:40/);
    });
    await on(browser, files.few, {}, async (page) => {
      assert.match(await text(page.locator("header")), /Times count from the first submission\./);
    });
  });

  test("has no section about what did not happen", async () => {
    await on(browser, files.empty, {}, async (page) => {
      for (const id of ["trades", "users"]) assert.equal(await page.locator(`#${id}`).count(), 0);
    });
  });

  test("says what was run, on what", async () => {
    await on(browser, files.plain, {}, async (page) => {
      const head = await text(page.locator("header"));
      assert.match(head, /sample-400/);
      assert.match(
        head,
        /400 jobs of 12 users on sample: 192 GPUs \(64 V100, 56 P100, 72 K80\) in 24 nodes and 2 racks/,
      );
      assert.match(head, /Settings: models=wang, network=contention/);
    });
  });

  test("shows the figures of the run in focus, in readable units", async () => {
    await on(browser, files.plain, {}, async (page) => {
      for (const [i, run] of plain.runs.entries()) {
        await page.locator(".top select").selectOption({ index: i });
        const cards = await text(page.locator("#summary .cards"));
        assert.match(cards, new RegExp(`Jobs finished\\s+${run.summary.finished}\\s`));
        assert.match(cards, new RegExp(`${(100 * run.summary.gpu_utilization).toFixed(1)} %`));
      }
    });
  });

  test("tells what the run assumed, and marks what concerns many jobs in red and in words", async () => {
    await on(browser, files.plain, {}, async (page) => {
      const lines = page.locator("#summary .assumed li");
      assert.equal(await lines.count(), 2);
      assert.equal(
        await text(lines.nth(0)),
        "Look at this: speeds LSTM on P100: as slow as on K80 (42 jobs)",
      );
      assert.equal(await text(lines.nth(1)), "format native, recognised by its content (1 job)");
      const [red, ink] = await lines.evaluateAll((all) =>
        all.map((li) => getComputedStyle(li).color),
      );
      assert.notEqual(red, ink);
    });
    const before = structuredClone(plain);
    for (const run of before.runs) delete run.summary.assumed;
    await on(browser, write("before-assumed.html", before), {}, async (page) => {
      assert.equal(await page.locator("#summary .assumed h3").count(), 0);
    });
  });

  test("marks the best run of each row and gives differences to the chosen baseline", async () => {
    await on(browser, files.plain, {}, async (page) => {
      const row = page.locator(".compare tbody tr", { hasText: "JCT, median" });
      const medians = plain.runs.map((run) => run.summary.jct_p50_s);
      const best = medians.indexOf(Math.min(...medians));
      const cells = row.locator("td");
      for (let i = 0; i < medians.length; i++) {
        assert.equal((await cells.nth(i).innerText()).includes("◆"), i === best, `column ${i}`);
      }
      await page.getByLabel("Differences relative to").selectOption({ index: 1 });
      const expected = Math.round((100 * (medians[0] - medians[1])) / medians[1]);
      assert.match(
        await text(cells.nth(0)),
        new RegExp(`\\+${expected.toLocaleString("en-US")} %`),
      );
    });
  });

  test("hides a run where its button is pressed, but never all", async () => {
    await on(browser, files.plain, {}, async (page) => {
      const chips = page.locator("#load .chip");
      for (let i = 0; i < plain.runs.length; i++) await chips.nth(i).click();
      assert.equal(await page.locator('#load .chip[aria-pressed="true"]').count(), 1);
      assert.equal(await page.locator(".compare thead th").count(), 2);
    });
  });

  test("says so where no user traded, and shows trades where they did", async () => {
    await on(browser, files.plain, {}, async (page) => {
      assert.match(await text(page.locator("#trades")), /no user traded/);
      assert.equal(
        await page
          .locator("#trades table")
          .first()
          .isVisible()
          .catch(() => false),
        false,
      );
      await page.locator(".top select").selectOption({ index: 3 });
      assert.match(
        await text(page.locator("#trades")),
        /Worth of the users' GPUs[\s\S]*does not measure trading[\s\S]*Sellers and buyers[\s\S]*V100/,
      );
    });
  });

  test("opens with nothing in it that ran", async () => {
    await on(browser, files.empty, {}, async (page) => {
      assert.match(await text(page.locator("#jobs .figure")), /1 of 1 jobs/);
      await page.locator("#jobs tbody tr[data-row]").click();
      assert.match(await text(page.locator("main.job")), /It never had a GPU/);
    });
  });

  test("says what is wrong where it has no data, or not all of it", async () => {
    const broken = join(out, "broken.html");
    const whole = readFileSync(files.few, "utf8");
    const cut = whole.replace(/(octet-stream;base64">.{1000})[^<]*/, "$1");
    for (const [content, reason] of [
      [template, /has no data/],
      [cut, /could not be read/],
    ]) {
      writeFileSync(broken, content);
      const { page, close } = await open(browser, broken);
      assert.match(await page.locator("#loading").innerText(), reason);
      await close();
    }
  });
});

describe("jobs", () => {
  test("are found by text, status and size, and sorted by any column", async () => {
    await on(browser, files.plain, {}, async (page) => {
      const found = page.locator("#jobs .figure");
      await page.locator("#job-filter").fill("JOB-0001");
      assert.equal(await found.innerText(), "10 of 400 jobs");
      await page.locator("#job-filter").fill("");
      await page.locator("#jobs").getByLabel("Status").selectOption("failed");
      const failed = plain.runs[0].outcome.status.filter((s) => s === 1).length;
      assert.equal(await found.innerText(), `${failed} of 400 jobs`);
      await page.locator("#jobs").getByLabel("Status").selectOption("any");
      await page.locator("#jobs").getByLabel("Size").selectOption("2–3 GPUs");
      assert.equal(
        await found.innerText(),
        `${plain.jobs.gpus.filter((g) => g === 2 || g === 3).length} of 400 jobs`,
      );
      await page.locator("#jobs").getByLabel("Size").selectOption("any");
      const heading = page.locator("#jobs thead th", { hasText: "JCT" });
      await heading.locator("button").click();
      assert.equal(await heading.getAttribute("aria-sort"), "ascending");
      await heading.locator("button").click();
      assert.equal(await heading.getAttribute("aria-sort"), "descending");
      const { finish_s } = plain.runs[0].outcome;
      const jct = plain.jobs.submit_s.map((t, i) => (finish_s[i] ?? -Infinity) - t);
      const longest = plain.jobs.id[jct.indexOf(Math.max(...jct))];
      assert.equal(await page.locator("#jobs tbody tr[data-row] th").first().innerText(), longest);
    });
  });

  test("have a page that Back leaves for the same place in the report", async () => {
    await on(browser, files.plain, {}, async (page) => {
      await page.locator("#jobs").scrollIntoViewIfNeeded();
      const before = await page.evaluate(() => scrollY);
      await page.locator("#jobs tbody tr[data-row] th", { hasText: "job-00003" }).click();
      await jobIsShown(page, "job-00003");
      assert.equal(await page.locator("main.job tbody tr").filter({ hasText: "fifo" }).count(), 1);
      await page.goBack();
      await jobIsLeft(page);
      assert.equal(await page.evaluate(() => scrollY), before);
      await page.goForward();
      await jobIsShown(page, "job-00003");
    });
  });

  test("have a page that says where they were and what the policy noted", async () => {
    const las = plain.runs[2];
    const noted = las.notes.job[las.notes.kind.indexOf(0)];
    const hash = `#job/${plain.jobs.id[noted]}`;
    await on(browser, files.plain, { hash }, async (page) => {
      await page.getByLabel("Details under").selectOption({ index: 2 });
      const words = await text(page.locator("main.job"));
      assert.match(words, /moved to priority queue \d/);
      assert.match(words, /started/);
      assert.match(words, /GPUs? \d/);
    });
  });

  test("say why they waited, where the report tells it", async () => {
    const job = plain.runs[0].waits.job[0];
    const hash = `#job/${plain.jobs.id[job]}`;
    await on(browser, files.plain, { hash }, async (page) => {
      await page.getByLabel("Details under").selectOption({ index: 0 });
      const waits = page.locator("main.job section", { hasText: "Why it waited" });
      const words = await text(waits);
      assert.match(words, /too few GPUs were free/);
      assert.match(words, /jobs that came later went first \(75 % of this time\)/);
      await waits.locator("a").click();
      await jobIsShown(page, plain.jobs.id[0]);
    });
    const silent = plain.jobs.id.find((_, i) => plain.runs.every((run) => run.waits.job[0] !== i));
    await on(browser, files.plain, { hash: `#job/${silent}` }, async (page) => {
      assert.match(await text(page.locator("main.job")), /Reported only for the jobs that waited most/);
    });
  });

  test("that do not exist are said not to", async () => {
    await on(browser, files.plain, { hash: "#job/%E0%A4%A" }, async (page) => {
      assert.match(await page.locator("h1:visible").innerText(), /There is no job %E0%A4%A/);
    });
  });
});
