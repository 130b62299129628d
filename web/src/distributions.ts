// The distributions of completion times and queueing.
import type { App } from "./app";
import { Chart } from "./charts";
import { el, section } from "./dom";
import { duration } from "./format";
import { runChips, runLines } from "./runs";
import type { ReportData, Run } from "./schema";
import { cdf, logGrid, quantile } from "./series";

const POINTS = 400;
const FINISHED = 0;

type Measure = (data: ReportData, run: Run, job: number) => number | null;

const completion: Measure = (data, run, job) => {
  const finish = run.outcome.finish_s[job];
  return finish === null ? null : finish - data.jobs.submit_s[job];
};
const queueing: Measure = (_, run, job) => run.outcome.queue_s[job];

export function distributionsSection(app: App): HTMLElement {
  return section(
    "distributions",
    "Completion and queueing times",
    runChips(app),
    el(
      "div",
      { class: "charts" },
      cdfChart(app, "Jobs finished within a time of their submission, %", completion, "finish"),
      cdfChart(app, "Jobs that waited at most a time, %", queueing, "wait"),
    ),
  );
}

function cdfChart(app: App, title: string, measure: Measure, verb: string): HTMLElement {
  const chart = new Chart(title);
  const sorted = app.data.runs.map((run) => sortedValues(app.data, run, measure));
  app.store.watch(["shown", "focus", "theme"], () => {
    const ends = app.shown.map((i) => quantile(sorted[i], 1) ?? 0);
    const grid = logGrid(1, Math.max(10, ...ends), POINTS);
    chart.show({
      x: grid,
      lines: runLines(app, (i) => cdf(sorted[i], grid)),
      logX: true,
      yMax: 1,
      format: (v) => (v === null ? "–" : `${+(100 * v).toFixed(1)}\u00a0%`),
      summary: sentence(app, sorted, verb),
    });
  });
  return chart.element;
}

function sortedValues(data: ReportData, run: Run, measure: Measure): Float64Array {
  const values = new Float64Array(data.jobs.id.length);
  let n = 0;
  for (let job = 0; job < values.length; job++) {
    if (run.outcome.status[job] !== FINISHED) continue;
    const value = measure(data, run, job);
    if (value !== null) values[n++] = value;
  }
  return values.subarray(0, n).sort();
}

function sentence(app: App, sorted: Float64Array[], verb: string): string {
  const focus = app.store.get("focus");
  const half = quantile(sorted[focus], 0.5);
  if (half === null) return `No job finished under ${app.run.label}.`;
  const tail = quantile(sorted[focus], 0.9);
  const rest = `${app.run.label}: half of the jobs ${verb} within ${duration(half)}, nine in ten within ${duration(tail)}.`;
  const best = app.shown.reduce((a, b) => {
    const [x, y] = [quantile(sorted[a], 0.5) ?? Infinity, quantile(sorted[b], 0.5) ?? Infinity];
    return y < x ? b : a;
  }, focus);
  if (best === focus) return rest;
  return `${rest} Shortest median: ${app.data.runs[best].label}, ${duration(quantile(sorted[best], 0.5))}.`;
}
