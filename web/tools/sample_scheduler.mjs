// The toy scheduler behind the sample reports: gangs on nodes of eight GPUs, in the order of a
// policy, for a time slice or to the end.
export const TYPES = ["V100", "P100", "K80"];
export const PER_NODE = 8;
const SPEED = [1, 0.55, 0.25];

export const POLICIES = [
  { label: "fifo", order: (a, b) => a.row - b.row, slice_s: Infinity },
  { label: "sjf", order: (a, b) => a.work - b.work || a.row - b.row, slice_s: Infinity },
  {
    label: "las:slice=7200",
    order: (a, b) => a.done - b.done || a.row - b.row,
    slice_s: 7200,
    queues: true,
  },
  {
    label: "gandiva-fair",
    order: (a, b) => a.stamp - b.stamp || a.row - b.row,
    slice_s: 10800,
    trades: true,
  },
];

export function random(seed) {
  let s = seed >>> 0; // mulberry32
  return () => {
    s = (s + 0x6d2b79f5) >>> 0;
    let t = Math.imul(s ^ (s >>> 15), s | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export const ms = (seconds) => Math.round(seconds * 1000) / 1000;

class Heap {
  constructor(order) {
    this.order = order;
    this.items = [];
  }
  push(item) {
    const { items, order } = this;
    let i = items.push(item) - 1;
    for (let up; i > 0 && order(items[i], items[(up = (i - 1) >> 1)]) < 0; i = up) this.swap(i, up);
  }
  pop() {
    const { items, order } = this;
    const top = items[0];
    const last = items.pop();
    if (items.length === 0) return top;
    items[0] = last;
    for (let i = 0; ;) {
      let least = i;
      for (const c of [2 * i + 1, 2 * i + 2]) {
        if (c < items.length && order(items[c], items[least]) < 0) least = c;
      }
      if (least === i) return top;
      this.swap(i, least);
      i = least;
    }
  }
  swap(a, b) {
    [this.items[a], this.items[b]] = [this.items[b], this.items[a]];
  }
}

// Free GPUs, as masks of nodes and lists of nodes by number of free GPUs.
class Pool {
  constructor(nodes) {
    this.free = new Int32Array(nodes).fill(255);
    this.by = Array.from({ length: PER_NODE + 1 }, () => new Set());
    for (let node = 0; node < nodes; node++) this.by[PER_NODE].add(node);
    this.fragmented = 0;
  }
  bits(mask) {
    let n = 0;
    for (; mask; mask &= mask - 1) n++;
    return n;
  }
  set(node, mask) {
    const before = this.bits(this.free[node]);
    const after = this.bits(mask);
    this.by[before].delete(node);
    this.by[after].add(node);
    this.fragmented += (after % PER_NODE) - (before % PER_NODE);
    this.free[node] = mask;
  }
  // Slices {node, mask}, or null.
  take(gpus) {
    const whole = Math.floor(gpus / PER_NODE);
    const rest = gpus % PER_NODE;
    if (this.by[PER_NODE].size < whole) return null;
    const slices = [...this.by[PER_NODE]].slice(0, whole).map((node) => ({ node, mask: 255 }));
    if (rest) {
      const level = this.by.findIndex(
        (set, free) => free >= rest && set.size > (free === PER_NODE ? whole : 0),
      );
      if (level < 0) return null;
      const node = [...this.by[level]].find((n) => !slices.some((s) => s.node === n));
      let mask = 0;
      for (let bit = 0; this.bits(mask) < rest; bit++) mask |= this.free[node] & (1 << bit);
      slices.push({ node, mask });
    }
    for (const { node, mask } of slices) this.set(node, this.free[node] & ~mask);
    return slices;
  }
  give(slices) {
    for (const { node, mask } of slices) this.set(node, this.free[node] | mask);
  }
}

// One run of one policy. After `run()`: runs by job, outcomes, notes, and `steps` as
// [t, GPUs in use, jobs running, jobs waiting, free GPUs on partly used nodes].
export class Simulation {
  constructor(policy, cluster, jobs, work, seed) {
    Object.assign(this, { policy, cluster, jobs, work });
    const none = () => new Array(jobs.id.length).fill(null);
    const zero = () => new Array(jobs.id.length).fill(0);
    this.rand = random(seed);
    this.pool = new Pool(cluster.nodes.name.length);
    this.ends = new Heap((a, b) => a.t - b.t || a.job.row - b.job.row);
    this.waiting = new Heap(policy.order);
    this.used = this.running = 0;
    this.steps = [];
    this.tiers = [];
    this.outcome = { start_s: none(), finish_s: none(), queue_s: none() };
    Object.assign(this.outcome, { preemptions: zero(), migrations: zero(), status: zero() });
    this.holds = { job: [], gpu: [], gpus: [], begin_s: [], end_s: [], tier: [] };
    this.notes = { omitted: 0, t_s: [], kind: [], job: [] };
    Object.assign(this.notes, { user: [], other_user: [], gpu_type: [], value: [] });
  }

  run() {
    const { jobs, ends } = this;
    const all = [];
    while (all.length < jobs.id.length || ends.items.length) {
      const arrival = jobs.submit_s[all.length] ?? Infinity;
      const t = Math.min(arrival, ends.items[0]?.t ?? Infinity);
      if (arrival <= t) all.push(this.arrive(all.length, t));
      else this.stop(ends.pop());
      this.schedule(t);
      if (this.policy.trades && this.rand() < 0.04) this.trade(t);
      const { used, running, waiting, pool } = this;
      this.steps.push([t, used, running, waiting.items.length, pool.fragmented]);
    }
    for (const job of all) for (const jobRun of job.holds) append(this.holds, jobRun);
    return this;
  }

  arrive(row, t) {
    const [work, gpus] = [this.work[row], this.jobs.gpus[row]];
    const job = { row, work, gpus, done: 0, stamp: t, ranFor: 0, holds: [] };
    if (gpus > this.cluster.nodes.name.length * PER_NODE) this.outcome.status[row] = 2;
    else this.waiting.push(job);
    return job;
  }

  // Starts the jobs that fit, in the policy's order; some jobs may overtake jobs that do not fit.
  schedule(t) {
    const skipped = [];
    while (this.waiting.items.length && skipped.length < 6) {
      const job = this.waiting.pop();
      const slices = this.pool.take(job.gpus);
      if (slices) this.start(job, slices, t);
      else skipped.push(job);
    }
    for (const job of skipped) this.waiting.push(job);
    if (this.policy.queues && skipped.length && this.rand() < 0.02) {
      this.note({ t_s: t, kind: 4, job: skipped[0].row, value: 40 + 200 * this.rand() });
    }
  }

  start(job, slices, t) {
    const { type, rack } = this.cluster.nodes;
    const speed = Math.min(...slices.map(({ node }) => SPEED[type[node]]));
    const time = Math.min((job.work - job.done) / speed, this.policy.slice_s);
    const racks = new Set(slices.map(({ node }) => rack[node]));
    const tier = racks.size > 1 ? 3 : slices.length > 1 ? 2 : job.gpus > 2 ? 1 : 0;
    const where = slices.map(({ node, mask }) => `${node}:${mask}`).join();
    if (job.where && job.where !== where) this.outcome.migrations[job.row]++;
    job.where = where;
    this.tiers.push(tier);
    this.outcome.start_s[job.row] ??= ms(t);
    this.used += job.gpus;
    this.running++;
    this.ends.push({ t: t + time, job, slices, begin: t, tier, done: time * speed });
  }

  // At the end of a run the job has finished, or its slice has ended and it waits again.
  stop({ t, job, slices, begin, tier, done }) {
    const { outcome, jobs } = this;
    this.pool.give(slices);
    this.used -= job.gpus;
    this.running--;
    job.done += done;
    job.ranFor += t - begin;
    for (const [gpu, gpus] of slices.flatMap(runsOf)) {
      job.holds.push({ job: job.row, gpu, gpus, begin_s: ms(begin), end_s: ms(t), tier });
    }
    if (job.done < job.work * 0.999999) {
      outcome.preemptions[job.row]++;
      const queue = Math.min(4, Math.ceil(Math.log2(1 + job.done / 1800)));
      if (this.policy.queues) this.note({ t_s: t, kind: 0, job: job.row, value: queue });
      job.stamp = t;
      this.waiting.push(job);
      return;
    }
    outcome.finish_s[job.row] = ms(t);
    outcome.queue_s[job.row] = Math.max(0, ms(t - jobs.submit_s[job.row] - job.ranFor));
    outcome.status[job.row] = this.rand() < 0.02 ? 1 : 0;
  }

  trade(t) {
    const { rand } = this;
    const who = { user: Math.floor(5 * rand()), other_user: 5 + Math.floor(3 * rand()) };
    const gpu_type = rand() < 0.7 ? 0 : 1;
    const price = 1.4 + 0.8 * Math.sin(t / 20000) ** 2 + 0.2 * rand();
    this.note({ t_s: t, kind: 2, ...who, gpu_type, value: 0.5 + 3 * rand() });
    this.note({ t_s: t, kind: 3, ...who, gpu_type, value: price });
  }

  note(given) {
    const note = { job: -1, user: -1, other_user: -1, gpu_type: -1, ...given };
    append(this.notes, { ...note, t_s: ms(note.t_s), value: ms(note.value) });
  }
}

// Adds a row to a table of columns.
function append(table, row) {
  for (const [key, value] of Object.entries(row)) table[key].push(value);
}

// Returns the groups of neighbouring GPUs of a slice, as [first GPU, GPUs].
function runsOf({ node, mask }) {
  const runs = [];
  for (let bit = 0; bit < PER_NODE; bit++) {
    if (!(mask & (1 << bit))) continue;
    const first = bit;
    while (mask & (1 << (bit + 1))) bit++;
    runs.push([node * PER_NODE + first, bit + 1 - first]);
  }
  return runs;
}
