// The parts of the page that need no browser: numbers, curves, rows and the picture of the
// timeline.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { makeReport } from "../../web/tools/sample.mjs";
import { out, root } from "./browser.mjs";

const page = {};

before(async () => {
  const esbuild = createRequire(join(root, "web/package.json"))("esbuild");
  const names = ["format", "series", "cluster", "job_runs", "bands", "raster", "notes"];
  const contents = names.map((name) => `export * from "./src/${name}";`).join("\n");
  const outfile = join(out, "parts.mjs");
  await esbuild.build({
    stdin: { contents, resolveDir: join(root, "web") },
    bundle: true,
    format: "esm",
    outfile,
    logLevel: "error",
  });
  Object.assign(page, await import(pathToFileURL(outfile).href));
});

const plain = (text) => text.replaceAll("\u00a0", " ");

describe("notes", () => {
  test("say how much of its timer a job has waited", () => {
    const text = (...note) => plain(page.noteText(...note));
    assert.equal(text("rack_timer", 258, 42), "insists on one rack: has waited 42 s of 5 min");
    assert.equal(text("node_timer", 0, 300), "no longer insists on one node");
    assert.equal(text("saving", 3251, 0), "its new place saves 3,251 GPU-seconds in total");
  });
});

describe("numbers", () => {
  test("durations have two units at most, and carry over correctly", () => {
    const cases = [
      [0, "0 s"],
      [0.25, "0.3 s"],
      [9.96, "10 s"],
      [42.4, "42 s"],
      [59.6, "1 min"],
      [750, "12 min 30 s"],
      [3599.7, "1 h"],
      [11100, "3 h 05 min"],
      [86399, "1 d"],
      [183600, "2 d 3 h"],
      [-90, "−1 min 30 s"],
      [null, "–"],
    ];
    for (const [seconds, expected] of cases)
      assert.equal(plain(page.duration(seconds)), expected, `${seconds}`);
  });

  test("moments keep their minutes", () => {
    assert.equal(plain(page.moment(128160)), "1 d 11 h 36 min");
    assert.equal(plain(page.moment(59)), "59 s");
  });

  test("differences are signed, and nothing where the baseline is nothing", () => {
    assert.equal(plain(page.difference(57, 100)), "−43 %");
    assert.equal(plain(page.difference(103.25, 100)), "+3.3 %");
    assert.equal(plain(page.difference(100, 100)), "±0 %");
    assert.equal(page.difference(5, 0), "");
    assert.equal(page.difference(null, 3), "");
  });

  test("ticks are round moments within the range, and few", () => {
    for (const [from, to] of [
      [0, 1],
      [0, 300],
      [5000, 250000],
      [0, 4e7],
    ]) {
      const ticks = page.timeTicks(from, to, 8);
      assert.ok(ticks.length >= 1 && ticks.length <= 9, `${ticks}`);
      for (const tick of ticks) assert.ok(from <= tick && tick <= to);
    }
  });
});

describe("a calendar", () => {
  const start = Date.UTC(2026, 8, 30, 21, 40, 5) / 1000;
  before(() => page.setCalendar(start));
  after(() => page.setCalendar(null));

  test("makes moments dates", () => {
    assert.equal(page.moment(0), "2026-09-30 21:40");
    assert.equal(page.moment(86400), "2026-10-01 21:40");
  });

  test("has ticks at round times of the day, and names the day where it changes", () => {
    const ticks = page.momentTicks(0, 12 * 3600, 5);
    assert.deepEqual(page.momentTickTexts(ticks), ["10-01 00:00", "03:00", "06:00", "09:00"]);
    const days = page.momentTicks(0, 3 * 86400, 4);
    assert.deepEqual(page.momentTickTexts(days), ["2026-10-01", "2026-10-02", "2026-10-03"]);
    const close = page.momentTicks(0, 30, 4);
    assert.deepEqual(page.momentTickTexts(close), ["09-30 21:40:15", "21:40:30"]);
  });
});

describe("curves", () => {
  test("a distribution is the fraction of values up to each point", () => {
    assert.deepEqual(
      page.cdf(Float64Array.of(1, 2, 2, 8), [0.5, 1, 2, 7.9, 8]),
      [0, 0.25, 0.75, 0.75, 1],
    );
  });

  test("quantiles are values that were measured", () => {
    const values = Float64Array.of(10, 20, 30, 40);
    assert.deepEqual(
      [0, 0.5, 0.51, 0.99, 1].map((q) => page.quantile(values, q)),
      [10, 20, 30, 40, 40],
    );
    assert.equal(page.quantile(Float64Array.of(), 0.5), null);
  });

  test("wider bins keep the sum, and end where the values end", () => {
    assert.deepEqual(page.resample([1, 3, 5], 60, 120, 3), [2, 5, null]);
    assert.deepEqual(page.resample([6, 0], 3, 2, 3), [6, 3, 0]);
  });
});

describe("stays", () => {
  test("are a job's runs that begin and end together, and know when it moved", () => {
    const row = (gpu, gpus, begin_s, end_s, tier) => ({ gpu, gpus, begin_s, end_s, tier });
    const rows = [row(0, 2, 0, 5, 2), row(8, 2, 0, 5, 2), row(0, 4, 7, 9, 1), row(0, 4, 9, 12, 1)];
    const jobRuns = { resolution_s: 0, job: [3, 3, 3, 3] };
    for (const key of ["gpu", "gpus", "begin_s", "end_s", "tier"])
      jobRuns[key] = rows.map((r) => r[key]);
    const stays = page.staysOf(page.jobRunsOf({ holds: jobRuns }), 3);
    assert.deepEqual(
      stays.map((s) => [s.begin, s.gpus, s.tier, s.moved]),
      [
        [0, 4, 2, false],
        [7, 4, 1, true],
        [9, 4, 1, false],
      ],
    );
    assert.deepEqual(page.staysOf(page.jobRunsOf({ holds: jobRuns }), 2), []);
  });
});

describe("the picture of the timeline", () => {
  const data = makeReport({ jobs: 200, nodes: 9, runs: 1 });
  const [run] = data.runs;
  const end = Math.max(...run.holds.end_s);

  // GPU-seconds in the picture of a view.
  function painted(view, height, columns) {
    const layout = page.layoutOf(data.cluster);
    const bands = page.bandsOf(data.cluster, layout, view, height);
    const seen = { ...view, p0: bands.edge[0], p1: bands.edge[bands.rows] };
    const black = [[0, 0, 0]];
    const classes = new Uint8Array(200);
    const raster = page.rasterize(
      page.jobRunsOf(run),
      layout.placeOfGpu,
      seen,
      columns,
      bands,
      classes,
      black,
    );
    let sum = 0;
    for (let row = 0; row < bands.rows; row++) {
      const gpus = bands.edge[row + 1] - bands.edge[row];
      for (let c = 0; c < columns; c++) sum += raster.cover[row * columns + c] * gpus;
    }
    assert.ok(
      raster.cover.every((part) => part <= 1.001),
      "no cell is used more than whole",
    );
    return { used: sum * ((view.t1 - view.t0) / columns), bands, seen };
  }

  function used({ t0, t1, p0, p1 }) {
    const layout = page.layoutOf(data.cluster);
    let sum = 0;
    run.holds.job.forEach((_, i) => {
      const place = layout.placeOfGpu[run.holds.gpu[i]];
      const gpus = Math.min(p1, place + run.holds.gpus[i]) - Math.max(p0, place);
      const time = Math.min(t1, run.holds.end_s[i]) - Math.max(t0, run.holds.begin_s[i]);
      if (gpus > 0 && time > 0) sum += gpus * time;
    });
    return sum;
  }

  test("has exactly the GPU time of its view, at every zoom", () => {
    const views = [
      [{ t0: 0, t1: end, p0: 0, p1: 72 }, 400, "GPU"],
      [{ t0: 0, t1: end, p0: 0, p1: 72 }, 40, "node"],
      [{ t0: 0, t1: end, p0: 0, p1: 72 }, 12, "group of up to 2 nodes"],
      [{ t0: 0, t1: end, p0: 0, p1: 72 }, 2, "rack"],
      [{ t0: end / 3, t1: end / 3 + 500, p0: 20.3, p1: 31.8 }, 400, "GPU"],
      [{ t0: end / 5, t1: end / 2, p0: 20.3, p1: 51.8 }, 12, "node"],
    ];
    for (const [view, height, unit] of views) {
      const { used: inPicture, bands, seen } = painted(view, height, 37);
      assert.equal(bands.unit, unit);
      const expected = used(seen);
      assert.ok(
        Math.abs(inPicture - expected) <= 1e-4 * expected + 1e-6,
        `${unit}: ${inPicture}, not ${expected}`,
      );
    }
  });

  test("has rows of one GPU type each, unless they are racks", () => {
    const cluster = {
      gpu_types: ["A", "B"],
      racks: 1,
      name: "",
      nodes: { name: ["a", "b", "c"], rack: [0, 0, 0], type: [1, 0, 1], gpus: [2, 1, 3] },
    };
    const layout = page.layoutOf(cluster);
    assert.deepEqual(layout.order, [1, 0, 2]);
    assert.deepEqual(page.unitEdges(cluster, layout, 8), [0, 1, 6]);
    assert.deepEqual(page.unitEdges(cluster, layout, Infinity), [0, 6]);
  });

  test("follows racks where they are not in input order", () => {
    const cluster = {
      gpu_types: ["A"],
      racks: 2,
      name: "",
      nodes: { name: ["a", "b", "c"], rack: [1, 0, 1], type: [0, 0, 0], gpus: [2, 1, 3] },
    };
    const layout = page.layoutOf(cluster);
    assert.deepEqual([...layout.gpuAtPlace], [2, 0, 1, 3, 4, 5]);
    assert.deepEqual(page.unitEdges(cluster, layout, Infinity), [0, 1, 6]);
    assert.deepEqual(page.unitEdges(cluster, layout, 1), [0, 1, 3, 6]);
  });
});
