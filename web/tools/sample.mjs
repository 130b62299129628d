// Sample reports of any size, from a seed: for tests, and for working on the page without the
// binary.
//
//   node tools/sample.mjs [--jobs 400] [--nodes 24] [--seed 1] [--hostile] [--out dist/sample.html]
//
// Its scheduler is a toy, but its output is consistent: runs do not overlap, and curves and summaries
// follow from runs.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { ms, PER_NODE, POLICIES, random, Simulation, TYPES } from "./sample_scheduler.mjs";

const web = dirname(dirname(fileURLToPath(import.meta.url)));
const SIZES = [1, 1, 1, 2, 2, 4, 4, 8, 8, 16, 32];
const MODELS = ["ResNet50", "VGG19", "BERT", "DCGAN", "Transformer", "LSTM", "A3C", "CycleGAN", ""];
export const HOSTILE = [
  "<script>window.hacked=1</script>",
  '"><img src=x onerror="window.hacked=1">',
  "</script><script>window.hacked=1</script>",
  "job '\"`${1}{{2}} \\ & &amp; %3C #x",
  "👩‍🔬🚀 émoji",
  "שלום עולם RTL",
  "\u202Egnp.evil\u202C",
  "javascript:window.hacked=1",
  "__FAIRLEAD_REPORT_DATA__",
  "a".repeat(300),
];

function makeCluster(nodes) {
  const racks = Math.max(1, Math.min(40, Math.ceil(nodes / 16)));
  const per = Math.ceil(nodes / racks);
  const type = (node) => (node < nodes * 0.3 ? 0 : node < nodes * 0.6 ? 1 : 2);
  const rows = Array.from({ length: nodes }, (_, i) => i);
  return {
    name: "sample",
    gpu_types: TYPES,
    racks,
    nodes: {
      name: rows.map((i) => `${TYPES[type(i)].toLowerCase()}-${i}`),
      rack: rows.map((i) => Math.floor(i / per)),
      type: rows.map(type),
      gpus: rows.map(() => PER_NODE),
    },
  };
}

function makeJobs(n, gpus, users, rand) {
  const jobs = { id: [], user: [], model: [], gpus: [], submit_s: [] };
  const work = [];
  const mean_s = 5200;
  const gap = (mean_s * 5) / (gpus * 0.55); // keeps the toy cluster busy, with queues at times
  let t = 0;
  for (let i = 0; i < n; i++) {
    jobs.id.push(`job-${String(i).padStart(5, "0")}`);
    jobs.user.push(Math.floor(users * rand() ** 1.8));
    jobs.model.push(Math.floor(MODELS.length * rand() ** 1.4));
    jobs.gpus.push(SIZES[Math.floor(SIZES.length * rand())]);
    jobs.submit_s.push(ms(t));
    work.push(Math.max(30, mean_s * 0.35 * Math.exp(1.4 * (rand() + rand() + rand() - 1.5) * 2)));
    t += -Math.log(1 - rand()) * gap * (1 + 0.7 * Math.sin(t / 14000));
  }
  return { jobs, work };
}

// Means of a step function over bins.
function means(steps, column, bins, bin_s) {
  const sums = new Float64Array(bins);
  steps.forEach((step, i) =>
    addTo(sums, bin_s, step[0], steps[i + 1]?.[0] ?? step[0], step[column]),
  );
  return Array.from(sums, (v) => Math.round((v / bin_s) * 1000) / 1000);
}

// The job whose first wait was the longest, in two pieces.
function waitsOf(run, jobs) {
  const waited = (job) => (run.outcome.start_s[job] ?? 0) - jobs.submit_s[job];
  const job = jobs.id.reduce((most, _, i) => (waited(i) > waited(most) ? i : most), 0);
  const from = jobs.submit_s[job];
  const middle = ms(from + waited(job) / 2);
  return {
    causes: ["too few GPUs were free", "jobs that came later went first"],
    job: [job, job],
    from_s: [from, middle],
    to_s: [middle, run.outcome.start_s[job] ?? middle],
    cause: [0, 1],
    part: [1, 0.75],
    free: [0.5, 2],
    hole: [1, 2],
    other: [-1, 0],
  };
}

function addTo(sums, bin_s, from, to, value) {
  for (let k = Math.floor(from / bin_s); k < sums.length && k * bin_s < to; k++) {
    sums[k] += value * (Math.min(to, (k + 1) * bin_s) - Math.max(from, k * bin_s));
  }
}

// A gang on several nodes loses 2 % of its GPU time, one on several racks 12 %.
function networkOf(run, jobs, cluster, bins, bin_s) {
  const nodeOf = cluster.nodes.gpus.flatMap((gpus, node) => new Array(gpus).fill(node));
  const lost = new Float64Array(bins);
  const job_lost_gpu_s = jobs.id.map(() => 0);
  const rack_lost_gpu_s = new Array(cluster.racks).fill(0);
  const { job, gpu, gpus, begin_s, end_s, tier } = run.holds;
  job.forEach((row, i) => {
    const rate = gpus[i] * [0, 0, 0.02, 0.12][tier[i]];
    if (rate === 0) return;
    addTo(lost, bin_s, begin_s[i], end_s[i], rate);
    job_lost_gpu_s[row] += rate * (end_s[i] - begin_s[i]);
    rack_lost_gpu_s[cluster.nodes.rack[nodeOf[gpu[i]]]] += rate * (end_s[i] - begin_s[i]);
  });
  return {
    gpus_lost: Array.from(lost, (v) => ms(v / bin_s)),
    job_lost_gpu_s: job_lost_gpu_s.map(Math.round),
    rack_lost_gpu_s: rack_lost_gpu_s.map(Math.round),
  };
}

function sharesOf(run, jobs, users, gpus, bins, bin_s) {
  const used = Array.from({ length: users }, () => new Float64Array(bins));
  const demand = Array.from({ length: users }, () => new Float64Array(bins));
  const { holds: jobRuns, outcome } = run;
  jobRuns.job.forEach((job, i) =>
    addTo(used[jobs.user[job]], bin_s, jobRuns.begin_s[i], jobRuns.end_s[i], jobRuns.gpus[i]),
  );
  jobs.id.forEach((_, job) =>
    addTo(
      demand[jobs.user[job]],
      bin_s,
      jobs.submit_s[job],
      outcome.finish_s[job] ?? 0,
      jobs.gpus[job],
    ),
  );
  const entitled = demand.map(() => new Array(bins).fill(0));
  for (let k = 0; k < bins; k++) {
    const order = demand.map((d, u) => [d[k] / bin_s, u]).sort((a, b) => a[0] - b[0]);
    let left = gpus;
    order.forEach(([wanted, u], i) => {
      const part = Math.min(wanted, left / (order.length - i));
      left -= part;
      entitled[u][k] = ms(part);
    });
  }
  return { held: used.map((row) => Array.from(row, (v) => ms(v / bin_s))), entitled };
}

function summarize(policy, run, jobs, work, shares, load, names, seed) {
  const { outcome } = run;
  const done = jobs.id.map((_, i) => i).filter((i) => outcome.status[i] === 0);
  const jct = done.map((i) => outcome.finish_s[i] - jobs.submit_s[i]).sort((a, b) => a - b);
  const mean = (values) =>
    values.length ? values.reduce((a, b) => a + b, 0) / values.length : null;
  const rank = (q) => jct[Math.min(jct.length - 1, Math.ceil(q * jct.length) - 1)] ?? null;
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  const hours = (values) => (sum(values) * load.bin_s) / 3600;
  const makespan = outcome.finish_s.reduce((a, b) => Math.max(a, b ?? 0), 0);
  const users = names.map((user, u) => {
    const gpu_hours = hours(shares.held[u]);
    return {
      user,
      tickets: 1,
      jobs: jobs.user.filter((x) => x === u).length,
      gpu_hours,
      contended_entitled_gpu_hours: hours(shares.entitled[u]) / 2,
      contended_effective_gpu_hours: (gpu_hours / 2) * (1 + 0.03 * (u - 5)),
      jct_avg_s: mean(
        done.filter((i) => jobs.user[i] === u).map((i) => outcome.finish_s[i] - jobs.submit_s[i]),
      ),
      work_gpu_hours: gpu_hours * (policy.trades && u >= 5 && u < 8 ? 0.8 : 0.6),
      entitled_gpu_hours: hours(shares.entitled[u]),
      throughput_share: 0,
    };
  });
  const all = sum(users.map((u) => u.work_gpu_hours)) || 1;
  for (const u of users) u.throughput_share = u.work_gpu_hours / all;
  const ratios = users
    .filter((u) => u.entitled_gpu_hours > 0)
    .map((u) => u.gpu_hours / u.entitled_gpu_hours);
  const errors = ratios.map((x) => Math.abs(x - 1));
  const placed = [0, 1, 2, 3].map((tier) => run.tiers.filter((t) => t === tier).length);
  return {
    policy: policy.label.split(":")[0],
    settings: { models: "wang", network: "contention" },
    assumed: {
      lines: [
        { about: "speeds", text: "LSTM on P100: as slow as on K80", jobs: 42, grave: true },
        { about: "format", text: "native, recognised by its content", jobs: 1, grave: false },
      ],
    },
    options: [
      ...(policy.slice_s === Infinity ? [] : [`slice=${policy.slice_s}`]),
      ...(policy.trades ? ["trade=true"] : []),
    ].join(),
    seed,
    cluster: "sample",
    trace: "sample.csv",
    jobs_read: jobs.id.length,
    finished: done.length,
    failed: outcome.status.filter((s) => s === 1).length,
    rejected: outcome.status.filter((s) => s === 2).length,
    pending: 0,
    makespan_s: makespan,
    jct_avg_s: mean(jct),
    jct_p50_s: rank(0.5),
    jct_p90_s: rank(0.9),
    jct_p99_s: rank(0.99),
    queue_avg_s: mean(done.map((i) => outcome.queue_s[i])),
    gpu_utilization: sum(load.gpus_held) / (sum(load.gpus_up) || 1),
    gpu_hours: hours(load.gpus_held),
    preemptions: sum(outcome.preemptions),
    migrations: sum(outcome.migrations),
    comm_time_share: (0.02 * placed[2] + 0.12 * placed[3]) / (sum(placed) || 1),
    placements: { pair: placed[0], node: placed[1], rack: placed[2], spine: placed[3] },
    users,
    fairness: {
      jain: sum(ratios) ** 2 / (ratios.length * sum(ratios.map((x) => x * x)) || 1),
      share_error_max: Math.max(0, ...errors),
      share_error_avg: mean(errors),
      ftf_max: 12.5,
      bounded_ftf_max: 9.5,
      effective_shortfall_max: Math.max(0, ...ratios.map((x) => 1 - x)),
      ftf_avg: 1.8,
    },
    bounds: { makespan_lower_s: makespan * 0.62, jct_avg_lower_s: mean(work) },
  };
}

export function makeReport({
  jobs: n = 400,
  nodes = 24,
  users = 12,
  seed = 1,
  runs = POLICIES.length,
  hostile = false,
} = {}) {
  const cluster = makeCluster(nodes);
  const gpus = nodes * PER_NODE;
  const { jobs, work } = makeJobs(n, gpus, users, random(seed));
  const names = Array.from({ length: users }, (_, u) =>
    hostile ? `${HOSTILE[u % HOSTILE.length]} user ${u}` : `user-${u + 1}`,
  );
  const models = MODELS.map((m, i) => (hostile ? `${HOSTILE[i % HOSTILE.length]} model ${i}` : m));
  if (hostile) {
    jobs.id = jobs.id.map((id, i) => (i < HOSTILE.length ? HOSTILE[i] : id));
    cluster.name = cluster.nodes.name[0] = HOSTILE[1];
  }
  const results = POLICIES.slice(0, runs).map((policy) => {
    const run = new Simulation(policy, cluster, jobs, work, seed).run();
    const end = run.steps[run.steps.length - 1][0];
    let bin_s = 60;
    while (end / bin_s > 512) bin_s *= 2;
    const bins = Math.max(1, Math.ceil(end / bin_s));
    const load = {
      bin_s,
      gpus_held: means(run.steps, 1, bins, bin_s),
      gpus_up: new Array(bins).fill(gpus),
      gpus_fragmented: means(run.steps, 4, bins, bin_s),
      jobs_running: means(run.steps, 2, bins, bin_s),
      jobs_waiting: means(run.steps, 3, bins, bin_s),
    };
    const shares = sharesOf(run, jobs, users, gpus, bins, bin_s);
    const label = hostile ? `${policy.label} ${HOSTILE[0]}` : policy.label;
    return {
      folder: policy.label,
      label,
      summary: summarize(policy, run, jobs, work, shares, load, names, seed),
      outcome: run.outcome,
      load,
      shares: { user: names.map((_, u) => u), ...shares },
      network: networkOf(run, jobs, cluster, bins, bin_s),
      holds: { resolution_s: 0, ...run.holds },
      notes: run.notes,
      waits: waitsOf(run, jobs),
    };
  });
  return {
    version: 2,
    program: "fairlead 0.1.0",
    title: hostile ? HOSTILE[2] : `sample-${n}`,
    cluster,
    users: names,
    models,
    jobs,
    runs: results,
  };
}

function packed({ job, begin_s, end_s, ...rest }) {
  const step = (value, i, all) => ms(value - (all[i - 1] ?? 0));
  const for_s = end_s.map((end, i) => ms(end - begin_s[i]));
  return { ...rest, job_step: job.map(step), begin_step_s: begin_s.map(step), for_s };
}

// Returns the page with the data in it, like `fairlead report`.
export function fillPage(template, data) {
  const runs = data.runs?.map((run) => ({ ...run, holds: packed(run.holds) }));
  const text = gzipSync(Buffer.from(JSON.stringify({ ...data, runs }))).toString("base64");
  return template.replace("__FAIRLEAD_REPORT_DATA__", () => text);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: {
      jobs: { type: "string", default: "400" },
      nodes: { type: "string", default: "24" },
      seed: { type: "string", default: "1" },
      hostile: { type: "boolean", default: false },
      out: { type: "string", default: join(web, "dist/sample.html") },
    },
  });
  const data = makeReport({
    jobs: Number(values.jobs),
    nodes: Number(values.nodes),
    seed: Number(values.seed),
    hostile: values.hostile,
  });
  mkdirSync(dirname(values.out), { recursive: true });
  writeFileSync(values.out, fillPage(readFileSync(join(web, "dist/report.html"), "utf8"), data));
}
