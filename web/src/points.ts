// Several seeds, several points of a sweep: the mean of a figure and its range over the seeds, by
// policy and point. Everything else on the page shows the first seed and the first point.
import type { App } from "./app";
import { Chart } from "./charts";
import { bdi, choice, el, scroller, section, table } from "./dom";
import { count, duration } from "./format";
import { lineColour, lineDash } from "./palette";
import type { Comparison, Figures, Summary } from "./schema";
import { METRICS, type Metric } from "./summary";

interface Row {
  point: string;
  policy: string;
  seeds: number;
  mean: number | null;
  min: number | null;
  max: number | null;
  best: boolean; // best of its point
}

// "load=0.5, mtbf_h=24"; "" without a sweep.
export function pointName(point: Record<string, number | string>): string {
  return Object.entries(point)
    .map(([key, value]) => `${key}=${value}`)
    .join(", ");
}

export function rowsOfMetric(comparison: Comparison, metric: Metric): Row[] {
  const of = (figures: Figures) => metric.of(figures as Summary) ?? null;
  return comparison.points.flatMap(({ point, policies }) => {
    const rows = policies.map(({ policy, seeds, mean, min, max }) => {
      const name = pointName(point);
      return {
        point: name,
        policy,
        seeds,
        mean: of(mean),
        min: of(min),
        max: of(max),
        best: false,
      };
    });
    const known = rows.map((row) => row.mean).filter((mean) => mean !== null);
    const best = metric.better === "more" ? Math.max(...known) : Math.min(...known);
    const differ = known.some((mean) => mean !== best);
    return rows.map((row) => ({
      ...row,
      best: metric.better !== "" && differ && row.mean === best,
    }));
  });
}

// The metrics with figures in compare.json.
export function metricsOf(comparison: Comparison): Metric[] {
  const [first] = comparison.points.flatMap(({ policies }) => policies);
  return METRICS.filter((metric) => {
    if (metric.bound || !first) return false;
    return metric.of({ fairness: {}, ...first.mean } as Summary) !== undefined;
  });
}

export function pointsSection(app: App): HTMLElement {
  const comparison = app.data.comparison!;
  const metrics = metricsOf(comparison);
  const swept = comparison.points.length > 1;
  const chart = new Chart("Means by point of the sweep");
  chart.element.hidden = !swept;
  const text = el("p", { class: "finding" });
  const place = el("div");
  let metric = Math.max(
    0,
    metrics.findIndex(({ label }) => label === "JCT, mean"),
  );
  const draw = () => {
    if (metrics.length === 0) return;
    const rows = rowsOfMetric(comparison, metrics[metric]);
    text.textContent = sentence(comparison, rows);
    place.replaceChildren(scroller("Seeds and points", pointTable(rows, metrics[metric], swept)));
    if (swept) showChart(chart, comparison, rows, metrics[metric]);
  };
  const pick = choice(
    "Figure",
    metrics.map(({ label }) => label),
    metric,
    (i) => {
      metric = i;
      draw();
    },
  );
  app.store.watch(["theme"], draw);
  return section(
    "points",
    swept ? "The points of the sweep" : "All seeds",
    el("div", { class: "bar" }, pick.element),
    text,
    chart.element,
    place,
    el(
      "p",
      { class: "note" },
      `◆ best mean${swept ? " of the point" : ""}. The bar reaches from the least to the greatest of the seeds; the ` +
        `mark is the mean. Everything else on this page shows the first seed${swept ? " of the first point" : ""}.`,
    ),
  );
}

function sentence({ points }: Comparison, rows: Row[]): string {
  const seeds = rows.reduce((most, row) => Math.max(most, row.seeds), 0);
  const runs = rows.reduce((sum, row) => sum + row.seeds, 0);
  const wins = new Map<string, number>();
  for (const { policy, best } of rows) if (best) wins.set(policy, (wins.get(policy) ?? 0) + 1);
  const [most] = [...wins].sort((a, b) => b[1] - a[1]);
  const of =
    points.length > 1 ? ` at ${count(most?.[1] ?? 0)} of ${count(points.length)} points` : "";
  const best = most ? ` ${most[0]} has the best mean${of}.` : " All means are equal.";
  return `${count(runs)} runs, up to ${count(seeds)} ${seeds === 1 ? "seed" : "seeds"} of a policy.${best}`;
}

function pointTable(rows: Row[], metric: Metric, swept: boolean): HTMLTableElement {
  const ends = rows.flatMap(({ min, max }) => [min, max]).filter((value) => value !== null);
  const most = Math.max(1e-12, ...ends);
  return table<Row>(
    `${metric.label}, by policy`,
    [
      ...(swept ? [{ title: "Point", text: true, cell: (row: Row) => bdi(row.point) }] : []),
      { title: "Policy", text: true, cell: (row) => bdi(row.policy) },
      { title: "Seeds", cell: (row) => count(row.seeds) },
      { title: "Mean", cell: (row) => `${row.best ? "◆ " : ""}${metric.format(row.mean)}` },
      { title: "Least", cell: (row) => metric.format(row.min) },
      { title: "Greatest", cell: (row) => metric.format(row.max) },
      { title: "", text: true, cell: (row) => rangeBar(row, most) },
    ],
    rows,
  );
}

// A bar from 0 on the left to `most` on the right.
function rangeBar({ mean, min, max }: Row, most: number): HTMLElement {
  const bar = el("div", { class: "range", "aria-hidden": "true" });
  if (mean === null || min === null || max === null) return bar;
  const part = (value: number) => `${(100 * Math.max(0, value)) / most}%`;
  const [span, mark] = [el("span"), el("span")];
  span.style.left = part(min);
  span.style.width = part(max - min);
  span.style.background = lineColour(0);
  mark.style.left = part(mean);
  mark.className = "mark";
  bar.append(span, mark);
  return bar;
}

function showChart(chart: Chart, { points }: Comparison, rows: Row[], metric: Metric): void {
  const names = points.map(({ point }) => pointName(point));
  const policies = [...new Set(rows.map((row) => row.policy))];
  const value = (policy: string, point: string) =>
    rows.find((row) => row.policy === policy && row.point === point)?.mean ?? null;
  chart.show({
    x: names.map((_, i) => i),
    points: names,
    lines: policies.map((policy, k) => ({
      label: policy,
      colour: lineColour(k),
      dash: lineDash(k),
      bold: false,
      dots: true,
      values: names.map((name) => value(policy, name)),
    })),
    legend: true,
    durations: metric.format === duration,
    format: metric.format,
    summary: `${metric.label}: the mean over the seeds, at each point.`,
  });
}
