// The report of real runs, if the program is built: build/release/fairlead, or the file that FAIRLEAD
// names.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { launch, out, root } from "./browser.mjs";
import { on, text } from "./fixtures.mjs";

const program = process.env.FAIRLEAD ?? join(root, "build/release/fairlead");
const has = spawnSync(program, ["report", "--help"]).status === 0;
const skip = has ? false : `${program} is not there, or has no report`;
const folder = join(out, "demo");
const file = join(folder, "report.html");
const POLICIES = ["fifo", "las", "gandiva-fair"];
let browser;
let data;

before(async () => {
  if (skip) return;
  rmSync(folder, { recursive: true, force: true });
  const workload = join(root, "data/demo/workload.csv");
  const quiet = { stdio: ["ignore", "ignore", "inherit"] };
  const runs = ["compare", "--cluster", "slides", "--trace", workload, "--out", folder];
  execFileSync(program, [...runs, "--policies", POLICIES.join(";")], quiet);
  execFileSync(program, ["report", folder, "-o", file], quiet);
  const [, base64] = /octet-stream;base64">([^<]*)/.exec(readFileSync(file, "utf8"));
  data = JSON.parse(gunzipSync(Buffer.from(base64, "base64")));
  browser = await launch();
});
after(() => browser?.close());

describe("the demo's report", { skip }, () => {
  test("shows the runs that were made, with the figures of their summaries", async () => {
    await on(browser, file, {}, async (page) => {
      assert.deepEqual(await page.locator(".top select option").allInnerTexts(), POLICIES);
      for (const [i, policy] of POLICIES.entries()) {
        const summary = JSON.parse(readFileSync(join(folder, policy, "summary.json"), "utf8"));
        await page.locator(".top select").selectOption({ index: i });
        const cards = await text(page.locator("#summary .cards"));
        assert.match(cards, new RegExp(`${(100 * summary.gpu_utilization).toFixed(1)} %`));
        assert.match(cards, new RegExp(summary.fairness.jain.toFixed(3)));
      }
      assert.match(await text(page.locator("#trades")), /Sellers and buyers/);
    });
  });

  test("has runs of jobs, curves and shares that add up to the summary", () => {
    for (const { label, summary, holds: jobRuns, load, shares } of data.runs) {
      const near = (hours, what) =>
        assert.ok(
          Math.abs(hours / summary.gpu_hours - 1) < 0.005,
          `${label}, ${what}: ${hours}, not ${summary.gpu_hours}`,
        );
      const sum = (values) => values.reduce((a, b) => a + b, 0);
      near(sum(jobRuns.gpus.map((gpus, i) => gpus * jobRuns.for_s[i])) / 3600, "holds");
      near((sum(load.gpus_held) * load.bin_s) / 3600, "load");
      near((sum(shares.held.map(sum)) * load.bin_s) / 3600, "shares");
    }
  });
});
