// The page's findings in a run, computed without a browser: facts of sentences, shares of GPU types,
// jobs of two runs, gains of trades, addresses and files.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { out, root } from "./browser.mjs";

const page = {};

before(async () => {
  const esbuild = createRequire(join(root, "web/package.json"))("esbuild");
  const names = ["findings", "types", "job_by_job", "gains", "address", "download", "svg", "state"];
  const contents = names.map((name) => `export * from "./src/${name}";`).join("\n");
  const outfile = join(out, "findings.mjs");
  await esbuild.build({
    stdin: { contents, resolveDir: join(root, "web") },
    bundle: true,
    format: "esm",
    outfile,
    logLevel: "error",
  });
  Object.assign(page, await import(pathToFileURL(outfile).href));
});

// Two nodes, of 4 A and 2 B; bins of 10 s. Job 0 of u has 4 A from 0 s to 20 s; job 1 of v asks for
// 4 at 5 s and has 2 B from 25 s to 40 s; job 2 was rejected.
function small() {
  return {
    cluster: {
      name: "c",
      gpu_types: ["A", "B"],
      racks: 1,
      nodes: { name: ["a", "b"], rack: [0, 0], type: [0, 1], gpus: [4, 2] },
    },
    users: ["u", "v"],
    models: [""],
    jobs: {
      id: ["j0", "j1", "j2"],
      user: [0, 1, 1],
      model: [0, 0, 0],
      gpus: [4, 2, 99],
      submit_s: [0, 5, 5],
    },
    runs: [
      {
        label: "fifo",
        outcome: {
          start_s: [0, 25, null],
          finish_s: [20, 40, null],
          queue_s: [0, 20, null],
          status: [0, 0, 2],
        },
        load: {
          bin_s: 10,
          gpus_held: [4, 4, 1, 2],
          gpus_up: [6, 6, 6, 6],
          jobs_waiting: [0.5, 1, 0.5, 0],
        },
        shares: {
          user: [0, 1],
          held: [
            [4, 4, 0, 0],
            [0, 0, 1, 2],
          ],
          entitled: [
            [4, 4, 0, 0],
            [1, 2, 2, 2],
          ],
        },
        holds: {
          resolution_s: 0,
          job: [0, 1],
          gpu: [0, 4],
          gpus: [4, 2],
          begin_s: [0, 25],
          end_s: [20, 40],
          tier: [1, 1],
        },
      },
    ],
  };
}

describe("what happened", () => {
  test("is when GPUs were free although waiting jobs asked for them", () => {
    const data = small();
    const [run] = data.runs;
    assert.deepEqual(page.gpusWanted(data, run), [1, 2, 1, 0]);
    const idle = page.idleWhileWaiting(data, run);
    assert.deepEqual([idle.from, idle.to], [0, 30]);
    assert.equal(idle.part, (1 + 2 + 1) / 24);
    assert.equal(idle.free, (2 + 2 + 5) / 3);
    run.load.gpus_up = run.load.gpus_held;
    assert.equal(page.idleWhileWaiting(data, run), null);
  });

  test("is who fell behind its share, and when", () => {
    const [run] = small().runs;
    const behind = [10, 30, 40, 40].map((gpu_s) => gpu_s / 3600);
    page.lags(run)[1].forEach((lag, i) => assert.ok(Math.abs(lag - behind[i]) < 1e-12));
    const short = page.shortOfShare(run);
    assert.deepEqual([short.user, short.from, short.to], [1, 0, 30]);
    assert.ok(Math.abs(short.missed - 40 / 3600) < 1e-12);
    assert.ok(Math.abs(short.part - 0.2) < 1e-12, "of 50 GPU-seconds it had 10");
    run.shares.held = run.shares.entitled;
    assert.equal(page.shortOfShare(run), null);
  });

  test("is who waited longest and why", () => {
    const data = small();
    const [run] = data.runs;
    assert.deepEqual(page.longestWait(data, run), {
      job: 1,
      waited: 20,
      cause: null,
      longWaits: null,
    });
    run.waits = {
      causes: ["full", "turn"],
      job: [1, 1],
      from_s: [5, 10],
      to_s: [10, 25],
      cause: [0, 1],
      part: [1, 0.8],
    };
    const { cause, longWaits } = page.longestWait(data, run);
    assert.equal(cause, "turn");
    assert.deepEqual(longWaits, { cause: "turn", part: 12 / 20 });
    run.outcome.status[1] = 3;
    run.outcome.start_s[1] = run.outcome.queue_s[1] = run.outcome.finish_s[1] = null;
    assert.equal(page.longestWait(data, run).waited, 35, "from 5 s to the end");
    run.outcome.queue_s = [0, 0, null];
    assert.equal(page.longestWait(data, run), null);
  });
});

describe("GPU types", () => {
  test("are told of jobs, users and moments", () => {
    const data = small();
    const [run] = data.runs;
    const masks = page.typesOfJobs(data, run);
    assert.deepEqual(
      [...masks].map((mask) => page.typesName(data.cluster, mask)),
      ["A", "B", "–"],
    );
    assert.deepEqual(page.usedByType(data, run), [
      [4, 4, 0, 0],
      [0, 0, 1, 2],
    ]);
    assert.deepEqual(
      page.hoursByUserAndType(data, run).map((row) => [...row]),
      [
        [80 / 3600, 0],
        [0, 30 / 3600],
      ],
    );
    assert.deepEqual(page.gpusOfTypes(data.cluster), [4, 2]);
  });
});

describe("two runs", () => {
  test("are compared by the jobs that finished in both", () => {
    const pairs = page.pairsOf([0, 10, 20, 30], [10, 30, 50, null], [5, 40, 50, 31]);
    assert.deepEqual(pairs, [
      { job: 0, before: 10, after: 5 },
      { job: 1, before: 20, after: 30 },
      { job: 2, before: 30, after: 30 },
    ]);
    assert.deepEqual(page.tally(pairs), { sooner: 1, later: 1, same: 1, median: 1 });
    assert.deepEqual(page.tally([]), { sooner: 0, later: 0, same: 0, median: null });
  });

  test("measure trading where they differ in nothing else", () => {
    const run = (options, seed = 1) => ({ summary: { policy: "p", options, seed, settings: {} } });
    const traded = run("a=1,trade=true,b=2");
    const runs = [run("a=1,trade=false,b=2", 2), run("a=2,trade=false,b=2"), run("a=1,b=2")];
    assert.equal(page.withoutTrading({ runs }, traded), null);
    const twin = run("a=1,trade=false,b=2");
    assert.equal(page.withoutTrading({ runs: [...runs, traded, twin] }, traded), twin);
    assert.equal(page.withoutTrading({ runs: [twin] }, runs[2]), null, "it knows no trading");
  });

  test("say what users got of what they were due, where summaries tell it", () => {
    assert.equal(
      page.worth({ contended_entitled_gpu_hours: 8, contended_effective_gpu_hours: 10 }),
      1.25,
    );
    assert.equal(
      page.worth({ contended_entitled_gpu_hours: 0, contended_effective_gpu_hours: 0 }),
      null,
    );
    assert.equal(page.worth({}), null);
  });
});

describe("addresses", () => {
  const first = () => ({
    focus: 0,
    shown: [true, true],
    baseline: 0,
    user: 0,
    time_s: 15,
    gpu: 0,
    view: null,
    jobs: page.ALL_JOBS,
    colourBy: "user",
    theme: "light",
  });
  const twoRuns = () => ({ ...small(), runs: [{ label: "fifo" }, { label: "las:a=1, &#?" }] });

  test("bring back what was chosen, and name nothing else", () => {
    const data = twoRuns();
    const chosen = {
      ...first(),
      focus: 1,
      shown: [false, true],
      baseline: 1,
      user: 1,
      time_s: 7.125,
      gpu: 5,
      view: { t0: 1.5, t1: 20, p0: 0, p1: 4 },
      jobs: { text: "j & ?", status: 0, size: 2, type: 1, sort: "JCT", down: true },
      colourBy: "size",
      theme: "dark",
    };
    const address = page.addressOf(data, "job/a%3Fb", chosen, first());
    const { place, choices } = page.parseAddress(address);
    assert.equal(place, "job/a%3Fb");
    assert.deepEqual({ ...first(), ...page.readChoices(data, choices, first()) }, chosen);
    assert.equal(page.addressOf(data, "load", first(), first()), "#load");
  });

  test("that mean nothing here change nothing", () => {
    const text =
      "#x?run=none&user=w&t=soon&gpu=99&view=3,1,0,9&colour=red&theme=grey&shown=9&status=many&more=1";
    const { choices } = page.parseAddress(text);
    assert.deepEqual(page.readChoices(twoRuns(), choices, first()), {});
  });
});

describe("files", () => {
  test("are CSV that no spreadsheet takes for formulas", () => {
    assert.equal(
      page.csv([
        ["a,b", 'say "x"', null],
        ["=1+1", -2.5, 1e-9],
      ]),
      '"a,b","say ""x""",\r\n\'=1+1,-2.5,0\r\n',
    );
    assert.equal(page.fileName("../a/b: c|d.csv"), "..-a-b- c-d.csv");
  });

  test("are SVG with every line, a legend, and names as text only", () => {
    const line = { colour: "#112233", dash: [], bold: true };
    const spec = {
      x: [0, 60, 120],
      lines: [
        { ...line, label: "<script>&\u0007", values: [1, 2, null] },
        { ...line, label: "stack", values: [1, 1, 1], drawn: [2, 3, 4], fill: "#445566" },
      ],
      stepped: true,
      format: (v) => `${v} GPUs`,
      summary: "It rose.",
    };
    const paper = { ink: "#000", muted: "#111", rule: "#222", paper: "#fff" };
    const svg = page.chartSvg("Title & <more>", spec, paper);
    assert.ok(svg.startsWith('<svg xmlns="http://www.w3.org/2000/svg"'));
    assert.ok(svg.includes("Title &amp; &lt;more&gt;") && svg.includes("&lt;script&gt;&amp;<"));
    assert.ok(!svg.includes("<script"));
    assert.equal(svg.match(/<path /g).length, 3, "two lines and an area");
    assert.match(svg, /fill="#445566"/);
    assert.match(svg, /<desc>It rose\.<\/desc>/);
    assert.deepEqual(page.rangeOf(spec), [0, 4.2]);
    assert.deepEqual(page.rangeOf({ lines: [{ values: [-2, 1] }] }), [-2.1, 1.05]);
  });
});
