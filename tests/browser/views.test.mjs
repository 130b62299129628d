// The views that explain a run: sentences, shares, GPU types, two runs, trades, the network; and the
// outputs for a reader: links and files.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { launch, open, out } from "./browser.mjs";
import { files, frames, jobIsLeft, jobIsShown, on, plain, text, timeline, write } from "./fixtures.mjs";

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

// A report with a run that differs from the one with trades in its trading only.
function withTwin() {
  const data = structuredClone(plain);
  const traded = data.runs[3];
  const twin = structuredClone(traded);
  twin.label = "untraded";
  twin.summary.options = traded.summary.options.replace("trade=true", "trade=false");
  twin.notes = {
    omitted: 0,
    t_s: [],
    kind: [],
    job: [],
    user: [],
    other_user: [],
    gpu_type: [],
    value: [],
  };
  for (const user of twin.summary.users) {
    user.contended_effective_gpu_hours *= 0.5;
    user.jct_avg_s *= 2;
  }
  data.runs.push(twin);
  return write("twin.html", data);
}

const address = (page) => page.evaluate(() => location.hash);
// Waits until the address has followed the choices.
const addressed = (page, part) =>
  page.waitForFunction((text) => location.hash.includes(text), part);

describe("at a glance", () => {
  test("a few sentences say what happened, and each leads to where it shows", async () => {
    await on(browser, files.plain, {}, async (page) => {
      const items = page.locator("#glance li");
      const said = await items.allInnerTexts();
      assert.equal(said.length, 4);
      assert.match(said[0], /has the shortest mean completion time of 4 runs/);
      assert.match(said[1], /of all GPU time was free although waiting jobs asked for it/);
      assert.match(said[2], /^user-\d+ fell short of its share most: .* GPU-hours behind/);
      assert.match(said[3], /^job-\d+ of user-\d+ \(\d+ GPUs?\) waited longest/);
      for (let i = 0; i < 4; i++)
        assert.ok((await items.nth(i).locator("a").count()) >= 1, said[i]);

      const whole = await timeline(page).getAttribute("aria-label");
      await items.nth(1).locator("a").click();
      await frames(page);
      assert.notEqual(await timeline(page).getAttribute("aria-label"), whole);
      assert.ok(
        await page
          .locator("#timeline-title")
          .evaluate((e) => e.getBoundingClientRect().top < innerHeight),
      );

      const user = said[2].split(" ")[0];
      await items.nth(2).locator("a").click();
      assert.equal(await page.locator('#users button[aria-pressed="true"]').innerText(), user);

      const id = said[3].split(" ")[0];
      await items.nth(3).locator("a").first().click();
      await jobIsShown(page, id);
    });
  });

  test("the sentences follow the run in focus", async () => {
    await on(browser, files.plain, {}, async (page) => {
      const before = await page.locator("#glance").innerText();
      await page.locator(".top select").selectOption({ index: 2 });
      assert.notEqual(await page.locator("#glance").innerText(), before);
    });
    await on(browser, files.empty, {}, async (page) => {
      assert.match(await text(page.locator("#glance")), /hardly any GPU was free/);
    });
  });
});

describe("shares", () => {
  test("are stacked to all that is in use, beside entitlements and lags", async () => {
    await on(browser, files.plain, {}, async (page) => {
      const figure = (title) => page.locator("#users figure", { hasText: title });
      const used = figure("GPUs in use, users stacked");
      const names = await used.locator(".legend li").allInnerTexts();
      const [{ shares }] = plain.runs;
      const top = shares.user.slice(0, 6).map((user) => plain.users[user]);
      assert.deepEqual(names, ["all others", ...top.reverse()]);
      await used.locator(".chart").focus();
      await page.keyboard.press("PageDown");
      const values = (await text(used.locator(".tip"))).split("\n").slice(1).map(parseFloat);
      const sum = values.reduce((a, b) => a + b, 0);
      assert.ok(Math.abs(sum - plain.runs[0].load.gpus_held[10]) < 0.5, `${values}`);
      assert.match(await text(figure("Entitled GPUs")), /a fair division of the GPUs/);
      assert.match(
        await text(figure("GPU-hours behind")),
        /was furthest off, .* GPU-hours (behind|ahead of) its entitlement at/,
      );
    });
  });
});

describe("GPU types", () => {
  test("stand in timeline, map, load, users and jobs", async () => {
    await on(browser, files.plain, {}, async (page) => {
      assert.match(
        await text(page.locator("#load")),
        /GPUs in use, % of each GPU type[\s\S]*\d+ % of V100, \d+ % of P100/,
      );
      assert.match(await text(page.locator("#users")), /GPU-hours by GPU type[\s\S]*V100 \(64\)/);
      assert.deepEqual(
        await page.getByRole("list", { name: "GPU types" }).locator("li").allInnerTexts(),
        ["V100, 64 GPUs", "P100, 56 GPUs", "K80, 72 GPUs"],
      );
      assert.match(
        await text(page.locator("#timeline")),
        /are in use, by \d+ jobs: \d+ of 64 V100, \d+ of 56 P100, \d+ of 72 K80/,
      );
      assert.match(await text(page.locator(".cursor-line")), /\(V100\)/);
      await page.getByLabel("Ran on").selectOption({ label: "K80" });
      const { holds: jobRuns } = plain.runs[0];
      const jobs = new Set(jobRuns.job.filter((_, i) => jobRuns.gpu[i] >= 120));
      assert.match(
        await text(page.locator("#jobs .figure")),
        new RegExp(`^${jobs.size} of 400 jobs`),
      );
      assert.match(await page.locator("#jobs tbody tr[data-row]").first().innerText(), /K80/);
    });
  });

  test("are not named where there is one", async () => {
    const one = structuredClone(plain);
    one.cluster.gpu_types = ["V100"];
    one.cluster.nodes.type = one.cluster.nodes.type.map(() => 0);
    for (const run of one.runs)
      run.notes.gpu_type = run.notes.gpu_type.map((type) => Math.min(type, 0));
    await on(browser, write("one-type.html", one), {}, async (page) => {
      assert.equal(await page.getByLabel("Ran on").count(), 0);
      assert.equal(await page.getByRole("list", { name: "GPU types" }).count(), 0);
      assert.doesNotMatch(await text(page.locator("#load")), /each GPU type/);
    });
  });
});

describe("two runs, job by job", () => {
  test("say who gained and lost, and lead to the jobs", async () => {
    await on(browser, files.plain, {}, async (page) => {
      const section = page.locator("#job-by-job");
      const against = () => page.getByLabel("Against").evaluate((select) => select.selectedIndex);
      assert.equal(await against(), 1, "not the run in focus, which is the baseline too");
      await page.getByLabel("Against").selectOption({ index: 0 });
      assert.equal(await against(), 1);
      await page.getByLabel("Against").selectOption({ index: 2 });
      assert.equal(await against(), 2);
      await page.getByLabel("Against").selectOption({ index: 1 });
      const [a, b] = [1, 0].map((run) => plain.runs[run].outcome.finish_s);
      const gain = (i) => a[i] - b[i];
      const both = a.map((_, i) => i).filter((i) => a[i] !== null && b[i] !== null);
      const most = both.reduce((best, i) => (gain(i) > gain(best) ? i : best), both[0]);
      assert.match(
        await text(section),
        /Under fifo \d+ jobs finished sooner than under .*, \d+ later, and \d+ at the same time/,
      );
      const first = section.locator("table").first().locator("a").first();
      assert.equal(await first.innerText(), plain.jobs.id[most]);
      assert.match(
        await section.locator("canvas").getAttribute("aria-label"),
        /below the diagonal, sooner/,
      );
      await first.click();
      await jobIsShown(page, plain.jobs.id[most]);
    });
  });

  test("are left out of a report of one run", async () => {
    await on(browser, files.empty, {}, async (page) => {
      assert.equal(await page.locator("#job-by-job").count(), 0);
    });
  });
});

describe("seeds and sweeps", () => {
  const figures = (jct_avg_s, jain) => ({ jct_avg_s, fairness: { jain } });
  const policy = (name, mean, min, max) => ({
    policy: name,
    seeds: 3,
    mean: figures(mean, 0.9),
    min: figures(min, 0.9),
    max: figures(max, 0.9),
  });
  const first = [policy("fifo", 7200, 3600, 10800), policy("las", 60, 50, 70)];
  const second = [policy("fifo", 30, 30, 30), policy("las", 60, 50, 70)];

  test("show the mean and range of each figure, at each point", async () => {
    const data = structuredClone(plain);
    data.comparison = {
      points: [
        { point: { load: 0.5 }, policies: first },
        { point: { load: 1 }, policies: second },
      ],
    };
    await on(browser, write("sweep.html", data), {}, async (page) => {
      const section = page.locator("#points");
      assert.match(
        await text(section),
        /12 runs, up to 3 seeds of a policy\. (las|fifo) has the best mean at 1 of 2 points/,
      );
      const rows = await section.locator("tbody tr").allInnerTexts();
      const plainRows = rows.map((row) =>
        row
          .replaceAll("\u00a0", " ")
          .split(/\s*\t\s*/)
          .slice(0, 6),
      );
      assert.deepEqual(plainRows[0], ["load=0.5", "fifo", "3", "2 h", "1 h", "3 h"]);
      assert.deepEqual(plainRows[1], ["load=0.5", "las", "3", "◆ 1 min", "50 s", "1 min 10 s"]);
      assert.match(plainRows[2][3], /◆ 30 s/);
      await section.locator(".chart").focus();
      await page.keyboard.press("ArrowRight");
      assert.match(await text(section.locator(".tip")), /load=1/);
      await section.getByLabel("Figure").selectOption({ label: "Fairness, Jain" });
      assert.match(await text(section), /All means are equal/);
    });
  });

  test("of one point have no chart, and one seed has no such section", async () => {
    const data = structuredClone(plain);
    data.comparison = { points: [{ point: {}, policies: first }] };
    await on(browser, write("seeds.html", data), {}, async (page) => {
      assert.match(
        await text(page.locator("#points")),
        /6 runs, up to 3 seeds of a policy\. las has the best mean\./,
      );
      assert.equal(await page.locator("#points .chart").isVisible(), false);
    });
    await on(browser, files.plain, {}, async (page) => {
      assert.equal(await page.locator("#points").count(), 0);
    });
  });
});

describe("trades", () => {
  test("are measured where the report has the same run without them", async () => {
    await on(
      browser,
      withTwin(),
      { hash: `#trades?run=${encodeURIComponent(plain.runs[3].label)}` },
      async (page) => {
        const words = await text(page.locator("#trades"));
        assert.match(
          words,
          /Measured gains\s+Against untraded, (\d+) of the \1 users who traded got more/,
        );
        assert.match(words, /\+\d+\.\d points/);
        assert.match(words, /−50 %/);
      },
    );
  });
});

describe("the network", () => {
  test("says what was lost, by time, rack and job", async () => {
    await on(browser, files.plain, {}, async (page) => {
      const { network } = plain.runs[0];
      const lost = network.job_lost_gpu_s;
      const section = page.locator("#network");
      assert.match(
        await text(section),
        new RegExp(`${lost.filter((v) => v > 0).length} jobs of 400 lost some`),
      );
      const worst = lost.indexOf(Math.max(...lost));
      const racks = section.locator("table").first().locator("tbody tr");
      assert.equal(await racks.count(), 2);
      const row = section.locator("table").nth(1).locator("tbody tr").first();
      assert.match(await text(row), new RegExp(`^${plain.jobs.id[worst]}\\s`));
      await row.locator("a").click();
      assert.match(await text(page.locator("main.job")), /Lost to the network/);
    });
  });

  test("is not there where nothing was lost", async () => {
    const none = structuredClone(plain);
    for (const run of none.runs) delete run.network;
    await on(browser, write("no-network.html", none), {}, async (page) => {
      assert.equal(await page.locator("#network").count(), 0);
      assert.doesNotMatch(await text(page.locator("#jobs thead")), /network/);
    });
    delete none.runs[0].network;
    none.runs[1].network = plain.runs[1].network;
    await on(browser, write("some-network.html", none), {}, async (page) => {
      assert.match(await text(page.locator("#network")), /no gang lost time to communication/);
    });
  });
});

describe("links", () => {
  test("keep run, zoom, filter and theme", async () => {
    let hash;
    await on(browser, files.plain, { colorScheme: "light" }, async (page) => {
      await page.locator(".top select").selectOption({ index: 2 });
      await page.getByRole("button", { name: "Switch to the dark theme" }).click();
      await page.locator("#job-filter").fill("user-3");
      await page.getByRole("columnheader", { name: "JCT" }).getByRole("button").click();
      await timeline(page).focus();
      for (let i = 0; i < 3; i++) await page.keyboard.press("+");
      await addressed(page, "view=");
      hash = await address(page);
    });
    const seen = async (page) => ({
      run: await page.locator(".top select").evaluate((select) => select.selectedIndex),
      theme: await page.evaluate(() => document.documentElement.dataset.theme),
      jobs: await text(page.locator("#jobs .figure")),
      first: await page.locator("#jobs tbody tr[data-row] th").first().innerText(),
      view: await timeline(page).getAttribute("aria-label"),
    });
    await on(browser, files.plain, { hash, colorScheme: "light" }, async (page) => {
      await frames(page);
      const now = await seen(page);
      assert.deepEqual([now.run, now.theme], [2, "dark"]);
      assert.match(now.jobs, /^\d+ of 400 jobs/);
      assert.notEqual(now.jobs, "400 of 400 jobs");
      assert.doesNotMatch(now.view, /from 0 s/);
      // A job's page and the way back change no choice.
      await page.locator("#jobs tbody tr[data-row]").first().click();
      await page.goBack();
      await jobIsLeft(page);
      assert.deepEqual(await seen(page), now);
      assert.equal(await address(page), hash);
    });
  });

  test("to a section go there, and what they do not know is passed over", async () => {
    const { page, faults, close } = await open(browser, files.plain, {
      hash: "#load?run=none&view=9&gpu=-1",
    });
    await frames(page);
    const top = await page.locator("#load").evaluate((e) => e.getBoundingClientRect().top);
    assert.ok(Math.abs(top) < 120, `${top}`);
    assert.deepEqual(faults, []);
    await close();
  });
});

describe("files", () => {
  const saved = async (page, act) => {
    const [download] = await Promise.all([page.waitForEvent("download"), act()]);
    const path = join(out, "saved");
    await download.saveAs(path);
    return { name: download.suggestedFilename(), bytes: readFileSync(path) };
  };

  test("contain a chart as SVG, PNG and CSV", async () => {
    await on(browser, files.plain, {}, async (page) => {
      const figure = page.locator("#users figure").first();
      await figure.locator("summary").click();
      const save = (way) =>
        saved(page, () => figure.getByRole("button", { name: `Save as ${way}` }).click());
      const svg = await save("SVG");
      assert.equal(svg.name, "GPUs in use, users stacked.svg");
      const lines = await page.evaluate((xml) => {
        const parsed = new DOMParser().parseFromString(xml, "image/svg+xml");
        return parsed.querySelector("parsererror") ? -1 : parsed.querySelectorAll("path").length;
      }, svg.bytes.toString());
      assert.equal(lines, 14, "seven lines and their areas");
      const png = await save("PNG");
      assert.deepEqual(
        [...png.bytes.subarray(1, 4)],
        [..."PNG"].map((c) => c.charCodeAt(0)),
      );
      assert.equal(png.bytes.readUInt32BE(16), 1800);
      const csv = (await save("CSV")).bytes.toString().trim().split("\r\n");
      assert.match(csv[0], /^"from, s",all others,user-/);
      assert.equal(csv.length, 1 + plain.runs[0].load.gpus_held.length);
    });
  });

  test("of a timeline of few users name these", async () => {
    const few = structuredClone(plain);
    few.jobs.user = few.jobs.user.map((user) => user % 3);
    few.users = few.users.slice(0, 3);
    for (const run of few.runs) {
      run.shares = {
        user: [0, 1, 2],
        held: run.shares.held.slice(0, 3),
        entitled: run.shares.entitled.slice(0, 3),
      };
      run.notes = {
        omitted: 0,
        t_s: [],
        kind: [],
        job: [],
        user: [],
        other_user: [],
        gpu_type: [],
        value: [],
      };
    }
    await on(browser, write("few-users.html", few), {}, async (page) => {
      await page.locator("#timeline summary").click();
      const svg = await saved(page, () =>
        page.getByRole("button", { name: "Save as SVG: timeline" }).click(),
      );
      const names = svg.bytes.toString().match(/>user-\d</g);
      assert.deepEqual(names.sort(), [">user-1<", ">user-2<", ">user-3<"]);
    });
  });

  test("contain the timeline in view and the jobs found", async () => {
    await on(browser, files.plain, {}, async (page) => {
      await page.locator("#timeline summary").click();
      const svg = await saved(page, () =>
        page.getByRole("button", { name: "Save as SVG: timeline" }).click(),
      );
      const drawn = await page.evaluate((xml) => {
        const parsed = new DOMParser().parseFromString(xml, "image/svg+xml");
        const paths = [...parsed.querySelectorAll("path")].map((path) => path.getAttribute("d"));
        return parsed.querySelector("parsererror") ? -1 : paths.join("").split("M").length - 1;
      }, svg.bytes.toString());
      const legend = await page
        .getByRole("list", { name: "Colours" })
        .first()
        .locator("li")
        .count();
      assert.equal(drawn, plain.runs[0].holds.job.length + legend);
      await page.locator("#job-by-job summary").click();
      const points = await saved(page, () =>
        page.getByRole("button", { name: /^Save as SVG: Completion/ }).click(),
      );
      const both = plain.jobs.id.filter((_, i) =>
        [0, 1].every((run) => plain.runs[run].outcome.finish_s[i] !== null),
      );
      assert.equal(points.bytes.toString().match(/M[\d.]+ [\d.]+h2/g).length, both.length);
      const jobRuns = await saved(page, () =>
        page.getByRole("button", { name: "Save as CSV: timeline" }).click(),
      );
      assert.equal(
        jobRuns.bytes.toString().trim().split("\r\n").length,
        1 + plain.runs[0].holds.job.length,
      );
      await page.locator("#job-filter").fill("job-0000");
      const jobs = await saved(page, () =>
        page.locator("#jobs").getByRole("button", { name: "Save as CSV" }).click(),
      );
      assert.equal(jobs.bytes.toString().trim().split("\r\n").length, 11);
    });
  });
});
