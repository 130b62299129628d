// The cluster over time: utilisation, fragmentation, length of the queue.
import type { App } from "./app";
import { Chart } from "./charts";
import { el, section } from "./dom";
import { moment, number, percent } from "./format";
import { lineColour, lineDash } from "./palette";
import { runChips, runLines } from "./runs";
import type { Run } from "./schema";
import { resample } from "./series";
import { gpusOfTypes, usedByType } from "./types";

const MOST_BINS = 1500;

type Values = (run: Run) => number[];

export function loadSection(app: App): HTMLElement {
  const utilisation: Values = ({ load }) =>
    load.gpus_held.map((used, i) => (load.gpus_up[i] > 0 ? used / load.gpus_up[i] : 0));
  return section(
    "load",
    "The cluster over time",
    runChips(app),
    el(
      "div",
      { class: "charts" },
      loadChart(app, "GPUs in use, % of GPUs on running nodes", utilisation, (v) => percent(v, 0), 1),
      loadChart(
        app,
        "Free GPUs on partly used nodes",
        (r) => r.load.gpus_fragmented,
        number,
      ),
      ...typeChart(app),
      loadChart(app, "Jobs running", (r) => r.load.jobs_running, number),
      loadChart(app, "Jobs waiting", (r) => r.load.jobs_waiting, number),
    ),
  );
}

// The focused run, one line for each GPU type; nothing if there is only one type.
function typeChart(app: App): HTMLElement[] {
  const types = app.data.cluster.gpu_types;
  if (types.length < 2) return [];
  const gpus = gpusOfTypes(app.data.cluster);
  const chart = new Chart("GPUs in use, % of each GPU type", "load");
  app.store.watch(["focus", "theme"], () => {
    const { load, label } = app.run;
    const used = usedByType(app.data, app.run).map((row, t) =>
      row.map((v) => Math.min(1, v / (gpus[t] || 1))),
    );
    const mean = (row: number[]) => row.reduce((a, b) => a + b, 0) / (row.length || 1);
    chart.show({
      x: load.gpus_held.map((_, i) => i * load.bin_s),
      lines: used.map((values, t) => ({
        label: types[t],
        colour: lineColour(t),
        dash: lineDash(t),
        bold: false,
        values,
      })),
      yMax: 1,
      stepped: true,
      legend: true,
      format: (v) => percent(v, 0),
      summary: `${label}: ${types.map((type, t) => `${percent(mean(used[t]), 0)} of ${type}`).join(", ")} on average.`,
    });
  });
  return [chart.element];
}

function loadChart(
  app: App,
  title: string,
  values: Values,
  format: (value: number | null) => string,
  yMax?: number,
): HTMLElement {
  const chart = new Chart(title, "load");
  app.store.watch(["shown", "focus", "theme"], () => {
    const { runs } = app.data;
    const end = Math.max(
      ...app.shown.map((i) => runs[i].load.bin_s * runs[i].load.gpus_held.length),
    );
    // Bins of the coarsest run, so that lines are equally smooth; at most as many as are visible.
    const bin = Math.max(end / MOST_BINS, ...app.shown.map((i) => runs[i].load.bin_s));
    const n = Math.max(1, Math.ceil(end / bin));
    chart.show({
      x: Array.from({ length: n }, (_, k) => k * bin),
      lines: runLines(app, (i) => resample(values(runs[i]), runs[i].load.bin_s, bin, n)),
      ...(yMax === undefined ? {} : { yMax }),
      stepped: true,
      format,
      summary: sentence(app, values(app.run), format),
    });
  });
  return chart.element;
}

function sentence(app: App, values: number[], format: (v: number | null) => string): string {
  if (values.length === 0) return `${app.run.label}: no data.`;
  const peak = values.reduce((a, b) => Math.max(a, b), 0);
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const when = moment(values.indexOf(peak) * app.run.load.bin_s);
  return `${app.run.label}: ${format(mean)} on average, at most ${format(peak)}, at ${when}.`;
}
