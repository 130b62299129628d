// The main figures of the focused run, and all runs in a table.
import type { App } from "./app";
import { bdi, button, choice, el, scroller, section, unseen } from "./dom";
import { count, difference, duration, number, percent, plural, times } from "./format";
import type { Summary } from "./schema";

export interface Metric {
  label: string;
  bound?: true; // relative to a lower bound
  of: (s: Summary) => number | null;
  format: (value: number | null) => string;
  better: "less" | "more" | "";
}

const ratio = (a: number | null, b: number | null) => (a === null || !b ? null : a / b);

export const METRICS: Metric[] = [
  { label: "Makespan", of: (s) => s.makespan_s, format: duration, better: "less" },
  {
    label: "Makespan / lower bound",
    bound: true,
    of: (s) => ratio(s.makespan_s, s.bounds.makespan_lower_s),
    format: times,
    better: "less",
  },
  { label: "JCT, mean", of: (s) => s.jct_avg_s, format: duration, better: "less" },
  {
    label: "Mean JCT / lower bound",
    bound: true,
    of: (s) => ratio(s.jct_avg_s, s.bounds.jct_avg_lower_s),
    format: times,
    better: "less",
  },
  { label: "JCT, median", of: (s) => s.jct_p50_s, format: duration, better: "less" },
  { label: "JCT, 90th percentile", of: (s) => s.jct_p90_s, format: duration, better: "less" },
  { label: "JCT, 99th percentile", of: (s) => s.jct_p99_s, format: duration, better: "less" },
  { label: "Queueing, mean", of: (s) => s.queue_avg_s, format: duration, better: "less" },
  { label: "GPUs utilised", of: (s) => s.gpu_utilization, format: percent, better: "more" },
  { label: "GPU-hours used", of: (s) => s.gpu_hours, format: number, better: "" },
  { label: "Lost to communication", of: (s) => s.comm_time_share, format: percent, better: "less" },
  { label: "Preemptions", of: (s) => s.preemptions, format: count, better: "less" },
  { label: "Migrations", of: (s) => s.migrations, format: count, better: "less" },
  { label: "Fairness, Jain", of: (s) => s.fairness.jain ?? null, format: three, better: "more" },
  {
    label: "Share error, largest",
    of: (s) => s.fairness.share_error_max ?? null,
    format: percent,
    better: "less",
  },
  {
    label: "Share error, mean",
    of: (s) => s.fairness.share_error_avg ?? null,
    format: percent,
    better: "less",
  },
  {
    label: "Worst user short of its share",
    of: (s) => s.fairness.effective_shortfall_max ?? null,
    format: percent,
    better: "less",
  },
  {
    label: "Finish-time fairness, worst",
    of: (s) => s.fairness.bounded_ftf_max ?? null,
    format: number,
    better: "less",
  },
  { label: "Jobs finished", of: (s) => s.finished, format: count, better: "more" },
  { label: "Jobs failed", of: (s) => s.failed, format: count, better: "" },
  { label: "Jobs rejected", of: (s) => s.rejected, format: count, better: "" },
  { label: "Jobs pending at the end", of: (s) => s.pending, format: count, better: "less" },
];

function three(value: number | null): string {
  return value === null ? "–" : value.toFixed(3);
}

export function summarySection(app: App): HTMLElement {
  const cards = el("dl", { class: "cards" });
  const run = el("p", { class: "finding" });
  const assumed = el("div", { class: "assumed" });
  app.store.watch(["focus"], () => {
    const { summary, label } = app.run;
    const options = summary.options ? ` (${summary.options.replaceAll(",", ", ")})` : "";
    run.replaceChildren(el("b", {}, bdi(label)), bdi(options), `, seed ${summary.seed}`);
    cards.replaceChildren(...cardsOf(summary));
    assumed.replaceChildren(...assumedOf(summary));
  });
  return section("summary", "Summary", run, cards, assumed, comparison(app));
}

// The assumptions of the run. A grave one has a word of warning, because colour alone is not enough.
function assumedOf(s: Summary): HTMLElement[] {
  const lines = s.assumed?.lines ?? [];
  if (lines.length === 0) return [];
  const rows = lines.map((line) => {
    const unit = line.about.startsWith("rows") ? "row" : "job";
    return el(
      "li",
      { class: line.grave ? "grave" : "" },
      line.grave ? "Look at this: " : null,
      el("b", {}, line.about),
      " ",
      bdi(line.text),
      ` (${plural(line.jobs, unit)})`,
    );
  });
  return [el("h3", {}, "Assumed"), el("ul", {}, ...rows)];
}

function cardsOf(s: Summary): HTMLElement[] {
  const bound = (value: number | null, least: number | null) =>
    ratio(value, least) === null ? "" : `${times(ratio(value, least))} lower bound`;
  const card = (label: string, value: string, more: string) =>
    el("div", {}, el("dt", {}, label), el("dd", {}, value, el("small", {}, more)));
  return [
    card("Makespan", duration(s.makespan_s), bound(s.makespan_s, s.bounds.makespan_lower_s)),
    card("Mean JCT", duration(s.jct_avg_s), bound(s.jct_avg_s, s.bounds.jct_avg_lower_s)),
    card("JCT, 99th percentile", duration(s.jct_p99_s), `median ${duration(s.jct_p50_s)}`),
    card("Mean queueing", duration(s.queue_avg_s), ""),
    card("GPUs utilised", percent(s.gpu_utilization), `${number(s.gpu_hours)} GPU-hours`),
    card("Preemptions", count(s.preemptions), `${count(s.migrations)} migrations`),
    card(
      "Fairness (Jain)",
      three(s.fairness.jain ?? null),
      `share error up to ${percent(s.fairness.share_error_max ?? null, 0)}`,
    ),
    card("Jobs finished", count(s.finished), `of ${count(s.jobs_read)}`),
  ];
}

function comparison(app: App): HTMLElement {
  const { runs } = app.data;
  if (runs.length < 2) return el("div");
  const place = el("div");
  const baseline = choice(
    "Differences relative to",
    runs.map((run) => run.label),
    app.store.get("baseline"),
    (i) => app.store.set({ baseline: i }),
  );
  app.store.watch(["shown", "focus", "baseline"], () =>
    place.replaceChildren(scroller("Runs side by side", comparisonTable(app))),
  );
  return el(
    "div",
    {},
    el("h3", {}, "Runs side by side"),
    el("div", { class: "bar" }, baseline.element),
    place,
    el(
      "p",
      { class: "note" },
      "◆ best of the row. JCT: time from submission to finish. A lower bound applies to every policy.",
    ),
  );
}

function comparisonTable(app: App): HTMLTableElement {
  const { runs } = app.data;
  const head = el("tr", {}, el("th", { scope: "col", class: "text" }, "Figure"));
  for (const i of app.shown) {
    const focus = i === app.store.get("focus");
    const label = button("", () => app.store.set({ focus: i }), {
      class: "quiet",
      title: "Show the details of this run",
      "aria-pressed": String(focus),
    });
    label.append(bdi(runs[i].label));
    const isBaseline = i === app.store.get("baseline");
    const mark = el("small", {}, isBaseline ? "baseline" : "");
    head.append(el("th", { scope: "col" }, label, mark));
  }
  const body = el(
    "tbody",
    {},
    ...METRICS.map((metric) => metricRow(app, metric)).filter((r) => r !== null),
  );
  return el(
    "table",
    { class: "compare" },
    el("caption", { class: "unseen" }, "Figures of the runs side by side"),
    el("thead", {}, head),
    body,
  );
}

function metricRow(app: App, metric: Metric): HTMLElement | null {
  const { runs } = app.data;
  const shown = app.shown;
  const values = shown.map((i) => metric.of(runs[i].summary));
  const baseline = app.store.get("baseline");
  if (!metric.better && values.every((v) => !v)) return null;
  const known = values.filter((v) => v !== null);
  // Values with equal text are equally good.
  const best = metric.format(metric.better === "more" ? Math.max(...known) : Math.min(...known));
  const marks = metric.better !== "" && known.some((v) => metric.format(v) !== best);
  const row = el("tr", {}, el("th", { scope: "row", class: "text" }, metric.label));
  values.forEach((value, k) => {
    const isBest = marks && value !== null && metric.format(value) === best;
    const cell = el(
      "td",
      { class: isBest ? "best" : "" },
      isBest ? "◆ " : null,
      metric.format(value),
    );
    if (isBest) cell.append(unseen(" best"));
    const change = difference(value, metric.of(runs[baseline].summary));
    cell.append(el("small", {}, shown[k] === baseline ? "" : change));
    row.append(cell);
  });
  return row;
}
