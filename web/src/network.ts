// The network's effect on a run: GPU time lost to communication, by time, rack and job, and the GPU time of
// gangs that need the links between nodes and racks.
import type { App } from "./app";
import { Chart } from "./charts";
import { bdi, el, scroller, section, table } from "./dom";
import { count, duration, moment, number, percent, plural } from "./format";
import { jobRunsOf } from "./job_runs";
import { lineColour, TIERS } from "./palette";
import type { ReportData, Run } from "./schema";

const RACK = TIERS.indexOf("rack");
const SPINE = TIERS.indexOf("spine");
const MOST_JOBS = 15;
const MOST_RACKS = 40;

// Returns how much shorter the job would have run without its gang's loss.
export function secondsLost(data: ReportData, run: Run, job: number): number | null {
  return run.network ? run.network.job_lost_gpu_s[job] / data.jobs.gpus[job] : null;
}

export function networkSection(app: App): HTMLElement {
  const text = el("p", { class: "finding" });
  const lost = new Chart("GPU time lost to communication, as GPUs", "load");
  const use = new Chart("GPUs in use by gangs across nodes and racks", "load");
  const racks = el("div");
  const jobs = el("div");
  const detail = el(
    "div",
    {},
    el("div", { class: "charts" }, lost.element, use.element),
    racks,
    jobs,
  );
  app.store.watch(["focus", "theme"], () => {
    const { run } = app;
    detail.hidden = !run.network;
    text.textContent = run.network
      ? lostText(app)
      : `Under ${run.label} no gang lost time to communication: no network was computed or measured, or no gang needed it.`;
    if (!run.network) return;
    showCharts(app, lost, use);
    racks.replaceChildren(...rackTable(app));
    jobs.replaceChildren(...jobTable(app));
  });
  return section("network", "Network", text, detail);
}

function lostText(app: App): string {
  const lost = app.run.network!.job_lost_gpu_s;
  const hit = lost.filter((gpu_s) => gpu_s > 0).length;
  const hours = lost.reduce((a, b) => a + b, 0) / 3600;
  return (
    `Under ${app.run.label} gangs lost ${number(hours)} GPU-hours to communication, ` +
    `${percent(app.run.summary.comm_time_share)} of their GPU time after overheads; ` +
    `${plural(hit, "job")} of ${count(lost.length)} lost some.`
  );
}

function showCharts(app: App, lost: Chart, use: Chart): void {
  const { load, network } = app.run;
  const x = load.gpus_held.map((_, i) => i * load.bin_s);
  const values = network!.gpus_lost;
  const peak = values.reduce((a, b) => Math.max(a, b), 0);
  lost.show({
    x,
    lines: [{ label: "lost", colour: lineColour(1), dash: [], bold: true, values }],
    stepped: true,
    format: number,
    summary: `At most ${number(peak)} GPUs' worth, at ${moment(values.indexOf(peak) * load.bin_s)}.`,
  });
  const [nodes, across] = [RACK, SPINE].map((tier) => usedOfTier(app.run, tier));
  const part = (used: number[]) => sum(used) / (sum(load.gpus_held) || 1);
  use.show({
    x,
    lines: [
      {
        label: "across nodes of a rack",
        colour: lineColour(0),
        dash: [],
        bold: false,
        values: nodes,
      },
      { label: "across racks", colour: lineColour(1), dash: [], bold: true, values: across },
    ],
    stepped: true,
    legend: true,
    format: number,
    summary: `Gangs across nodes of one rack had ${percent(part(nodes))} of all GPU time in use, gangs across racks ${percent(part(across))}.`,
  });
}

// Returns the GPUs in use by gangs with their widest link in the tier, means over the bins of the load.
function usedOfTier(run: Run, tier: number): number[] {
  const { bin_s, gpus_held } = run.load;
  const used = new Array<number>(gpus_held.length).fill(0);
  const jobRuns = jobRunsOf(run);
  for (let i = 0; i < jobRuns.count; i++) {
    if (jobRuns.tier[i] !== tier) continue;
    for (
      let k = Math.floor(jobRuns.begin[i] / bin_s);
      k < used.length && k * bin_s < jobRuns.end[i];
      k++
    ) {
      const time = Math.min(jobRuns.end[i], (k + 1) * bin_s) - Math.max(jobRuns.begin[i], k * bin_s);
      used[k] += (jobRuns.gpus[i] * time) / bin_s;
    }
  }
  return used;
}

function rackTable(app: App): HTMLElement[] {
  const { data, layout, run } = app;
  const { nodes } = data.cluster;
  const rows = Array.from({ length: data.cluster.racks }, (_, rack) => ({
    rack,
    gpus: 0,
    used: 0,
    nodes: 0,
    across: 0,
    lost: run.network!.rack_lost_gpu_s[rack] / 3600,
  }));
  nodes.gpus.forEach((gpus, node) => (rows[nodes.rack[node]].gpus += gpus));
  const jobRuns = jobRunsOf(run);
  for (let i = 0; i < jobRuns.count; i++) {
    const row = rows[nodes.rack[layout.nodeOfGpu[jobRuns.gpu[i]]]];
    const hours = (jobRuns.gpus[i] * (jobRuns.end[i] - jobRuns.begin[i])) / 3600;
    row.used += hours;
    if (jobRuns.tier[i] === RACK) row.nodes += hours;
    if (jobRuns.tier[i] === SPINE) row.across += hours;
  }
  const named = run.summary.racks;
  const shown = rows.sort((a, b) => b.lost - a.lost || a.rack - b.rack).slice(0, MOST_RACKS);
  type Row = (typeof rows)[number];
  const of = (value: number, row: Row) =>
    el("span", {}, number(value), el("small", {}, percent(row.used ? value / row.used : null)));
  const body = table<Row>(
    "Use and loss by rack",
    [
      {
        title: "Rack",
        text: true,
        cell: (row) => bdi(named?.[row.rack]?.name ?? `rack ${row.rack}`),
      },
      { title: "GPUs", cell: (row) => count(row.gpus) },
      { title: "GPU-hours used", cell: (row) => number(row.used) },
      { title: "by gangs across its nodes", cell: (row) => of(row.nodes, row) },
      { title: "by gangs across racks", cell: (row) => of(row.across, row) },
      { title: "GPU-hours lost", cell: (row) => of(row.lost, row) },
      ...(named
        ? [{ title: "Links", text: true, cell: (row: Row) => bdi(named[row.rack]?.about ?? "–") }]
        : []),
    ],
    shown,
  );
  const left = rows.length - shown.length;
  return [
    el("h3", {}, "By rack"),
    scroller("Network by rack", body),
    el("p", { class: "note" }, left > 0 ? `${plural(left, "rack")} with smaller losses not shown.` : ""),
  ];
}

function jobTable(app: App): HTMLElement[] {
  const { data, run } = app;
  const lost = run.network!.job_lost_gpu_s;
  const rows = lost.map((_, job) => job).filter((job) => lost[job] > 0);
  rows.sort((a, b) => lost[b] - lost[a] || a - b);
  const body = table<number>(
    "Jobs that lost most",
    [
      {
        title: "Job",
        text: true,
        cell: (job) =>
          el(
            "a",
            { href: `#job/${encodeURIComponent(data.jobs.id[job])}` },
            bdi(data.jobs.id[job]),
          ),
      },
      { title: "User", text: true, cell: (job) => bdi(app.user(data.jobs.user[job])) },
      { title: "Model", text: true, cell: (job) => bdi(app.model(data.jobs.model[job])) },
      { title: "GPUs", cell: (job) => count(data.jobs.gpus[job]) },
      { title: "GPU-hours lost", cell: (job) => number(lost[job] / 3600) },
      { title: "Time lost", cell: (job) => duration(secondsLost(data, run, job)) },
    ],
    rows.slice(0, MOST_JOBS),
  );
  return [
    el("h3", {}, "Jobs that lost most"),
    scroller("Jobs that lost most to the network", body),
    el(
      "p",
      { class: "note" },
      "Time lost: GPU time lost / GPUs of the job. The table of jobs has the value of every job.",
    ),
  ];
}

const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);
