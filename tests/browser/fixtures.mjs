// Reports that the tests open, and actions on pages.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fillPage, makeReport } from "../../web/tools/sample.mjs";
import { open, out, root } from "./browser.mjs";

mkdirSync(out, { recursive: true });
export const template = readFileSync(join(root, "web/built/report.html"), "utf8");
export const plain = makeReport({ jobs: 400, seed: 7 });
export function write(name, data) {
  const file = join(out, name);
  writeFileSync(file, fillPage(template, data));
  return file;
}

export const files = {
  plain: write("plain.html", plain),
  few: write("few.html", makeReport({ jobs: 50, nodes: 3, seed: 3 })),
  hostile: write("hostile.html", makeReport({ jobs: 60, nodes: 4, hostile: true })),
  empty: write("empty.html", emptyReport()),
  answered: write("answered.html", answeredReport()),
  dated: write("dated.html", datedReport()),
};

// A report on a trace with calendar times, by the program that made its runs.
function datedReport() {
  const data = makeReport({ jobs: 50, nodes: 3, seed: 3 });
  data.first_submit_s = 5;
  for (const run of data.runs) {
    run.program = data.program;
    run.summary.assumed = { lines: [], starts_at: "2026-09-30T21:40:00Z" };
  }
  return data;
}

// A report on a comparison, with its sentences and the origins of its runs.
function answeredReport() {
  const data = makeReport({ jobs: 50, nodes: 3, runs: 2, seed: 3 });
  data.answer = [
    "Shortest mean wait: fairlead, 36 min ± 12 min.",
    "Our model of your scheduler, slurm: mean wait 6h, recorded 3h.",
    "! A decision from this table rests on an inaccurate model: it waits longer by 100 %.",
  ];
  Object.assign(data.runs[0], {
    inputs_hash: "0123456789abcdef",
    command: "fairlead simulate --policy=fifo",
    program: "fairlead 0.0.9 (abc)",
  });
  return data;
}

// One job that never ran, and nothing else.
function emptyReport() {
  const data = makeReport({ jobs: 1, nodes: 1, users: 1, runs: 1 });
  const [run] = data.runs;
  for (const key of ["start_s", "finish_s", "queue_s"]) run.outcome[key] = [null];
  run.outcome.status = [3];
  for (const key of ["gpus_held", "gpus_up", "gpus_fragmented", "jobs_running", "jobs_waiting"])
    run.load[key] = [];
  run.shares = { user: [], held: [], entitled: [] };
  for (const key of ["job", "gpu", "gpus", "begin_s", "end_s", "tier"]) run.holds[key] = [];
  for (const key of [
    "makespan_s",
    "jct_avg_s",
    "jct_p50_s",
    "jct_p90_s",
    "jct_p99_s",
    "queue_avg_s",
  ])
    run.summary[key] = null;
  run.summary.gpu_utilization = run.summary.comm_time_share = null;
  run.summary.users = [];
  run.summary.fairness = { jain: null };
  run.summary.bounds = { makespan_lower_s: null, jct_avg_lower_s: null };
  return data;
}

// Runs `body` on an open page, and expects no error, warning or request by its end.
export async function on(browser, file, options, body) {
  const { page, faults, close } = await open(browser, file, options);
  try {
    await body(page);
    assert.deepEqual(faults, []);
  } finally {
    await close();
  }
}

// Both wait: a link, Back and Forward change the address first, and the page a moment later.
export const jobIsShown = (page, id) =>
  page.locator("main.job").getByRole("heading", { name: `Job ${id}`, exact: true }).waitFor();
export const jobIsLeft = (page) => page.locator("main.job").waitFor({ state: "detached" });

export const timeline = (page) => page.locator("#timeline .canvas-box").first();
export const frames = (page) =>
  page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
  );
// Text with plain spaces; the page keeps numbers and units together.
export const text = async (locator) => (await locator.innerText()).replaceAll("\u00a0", " ");
