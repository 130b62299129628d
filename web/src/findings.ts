// The main events of a run, derived from its data: the time in which GPUs idled while jobs waited, the
// user furthest below its share, the longest wait and its cause. Times are as exact as the load's bins.
import type { ReportData, Run } from "./schema";

export interface Idle {
  from: number;
  to: number;
  free: number; // mean GPUs
  up: number; // mean GPUs
  waiting: number; // mean jobs
  part: number; // fraction of all GPU time on running nodes: free although waiting jobs asked for it
}

const LEAST_PART = 1e-3; // fraction of all GPU time: less is not reported
const MISSED_GPUS = 0.02; // a bin counts if this fraction of the GPUs on running nodes is missed

// Returns the GPUs requested by waiting jobs, means over the bins of the load. O(jobs + bins).
export function gpusWanted({ jobs }: ReportData, { load, outcome }: Run): number[] {
  const { bin_s, gpus_held } = load;
  const end = bin_s * gpus_held.length;
  // Sums of the starts and ends in each bin: `level` from the next bin on, `part` within it.
  const level = new Float64Array(gpus_held.length + 1);
  const part = new Float64Array(gpus_held.length + 1);
  const step = (t: number, gpus: number) => {
    const bin = Math.min(gpus_held.length, Math.max(0, Math.floor(t / bin_s)));
    level[bin] += gpus;
    part[bin] += gpus * (bin + 1 - t / bin_s);
  };
  jobs.id.forEach((_, job) => {
    if (outcome.status[job] === REJECTED) return;
    step(jobs.submit_s[job], jobs.gpus[job]);
    step(Math.min(end, outcome.finish_s[job] ?? end), -jobs.gpus[job]);
  });
  let asked = 0;
  return gpus_held.map((used, i) => {
    const wanted = Math.max(0, asked + part[i] - used);
    asked += level[i];
    return wanted;
  });
}
const REJECTED = 2;

// Returns the stretch in which most GPU time was free although waiting jobs asked for it, or null if
// the amount is negligible.
export function idleWhileWaiting(data: ReportData, run: Run): Idle | null {
  const { bin_s, gpus_held, gpus_up, jobs_waiting } = run.load;
  const bins = gpus_held.map((_, i) => i);
  const wanted = gpusWanted(data, run);
  const free = bins.map((i) => Math.max(0, gpus_up[i] - gpus_held[i]));
  const missed = bins.map((i) => Math.min(free[i], wanted[i]));
  const counts = (i: number) => missed[i] > MISSED_GPUS * gpus_up[i];
  const sum = (from: number, to: number, values: number[]) =>
    values.slice(from, to).reduce((a, b) => a + b, 0);
  let best: [number, number] | null = null;
  let [most, all] = [0, 0];
  for (let i = 0; i < bins.length;) {
    let to = i;
    while (to < bins.length && counts(to)) to++;
    const idle = sum(i, to, missed);
    all += idle;
    if (idle > most) [most, best] = [idle, [i, to]];
    i = to + 1;
  }
  const part = all / (sum(0, bins.length, gpus_up) || 1);
  if (!best || part < LEAST_PART) return null;
  const [from, to] = best;
  const n = to - from;
  return {
    from: from * bin_s,
    to: to * bin_s,
    free: sum(from, to, free) / n,
    up: sum(from, to, gpus_up) / n,
    waiting: sum(from, to, jobs_waiting) / n,
    part,
  };
}

// Returns the GPU-hours by which each user of `shares` is behind its entitlement, at the end of each bin;
// negative: ahead.
export function lags({ shares, load }: Run): number[][] {
  return shares.held.map((used, k) => {
    let lag = 0;
    return used.map((gpus, i) => {
      lag += ((shares.entitled[k][i] - gpus) * load.bin_s) / 3600;
      return lag;
    });
  });
}

export interface Short {
  user: number;
  from: number;
  to: number;
  missed: number; // GPU-hours
  part: number; // fraction of its entitlement that it received, from..to
}

const MISSED = 0.01; // fraction of the user's entitlement: less is not reported

// Returns the user with the largest increase of its debt in GPU-hours, and the time of the increase;
// null if no user lost more than a hundredth of its entitlement.
export function shortOfShare(run: Run): Short | null {
  const { shares, load } = run;
  let worst: Short | null = null;
  lags(run).forEach((lag, k) => {
    const { missed, from, to } = largestRise(lag);
    const entitled = (a: number, b: number) =>
      (shares.entitled[k].slice(a, b).reduce((x, y) => x + y, 0) * load.bin_s) / 3600;
    if (missed <= MISSED * entitled(0, lag.length) || missed <= (worst?.missed ?? 0)) return;
    const due = entitled(from, to);
    worst = {
      user: shares.user[k],
      from: from * load.bin_s,
      to: to * load.bin_s,
      missed,
      part: due > 0 ? Math.max(0, 1 - missed / due) : 1,
    };
  });
  return worst;
}

// Returns the bins [from, to) over which a sum that starts at 0 rose most.
function largestRise(sums: number[]): { from: number; to: number; missed: number } {
  let [low, lowAt] = [0, 0];
  let best = { from: 0, to: 0, missed: 0 };
  sums.forEach((value, i) => {
    if (value - low > best.missed) best = { from: lowAt, to: i + 1, missed: value - low };
    if (value < low) [low, lowAt] = [value, i + 1];
  });
  return best;
}

export interface LongWait {
  job: number;
  waited: number;
  cause: string | null; // the cause of most of its reported waiting
  longWaits: { cause: string; part: number } | null; // the cause of most of all reported waiting
}

// Returns the job that was longest without GPUs; null if no job waited.
export function longestWait(data: ReportData, run: Run): LongWait | null {
  const { outcome } = run;
  const end = run.load.bin_s * run.load.gpus_held.length;
  const waited = (job: number) => {
    if (outcome.queue_s[job] !== null) return outcome.queue_s[job]!;
    return outcome.start_s[job] === null && outcome.status[job] === 3
      ? Math.max(0, end - data.jobs.submit_s[job])
      : 0;
  };
  let best = -1;
  let most = 0;
  for (let job = 0; job < data.jobs.id.length; job++) {
    if (waited(job) > most) [most, best] = [waited(job), job];
  }
  if (best < 0) return null;
  return {
    job: best,
    waited: most,
    cause: causeOf(run, best)?.cause ?? null,
    longWaits: causeOf(run, -1),
  };
}

// Returns the cause of most of the reported waiting of a job, or of all jobs (-1).
function causeOf({ waits }: Run, job: number): { cause: string; part: number } | null {
  if (!waits) return null;
  const times = waits.causes.map(() => 0);
  waits.job.forEach((row, i) => {
    if (job < 0 || row === job)
      times[waits.cause[i]] += (waits.to_s[i] - waits.from_s[i]) * waits.part[i];
  });
  const all = waits.job.reduce(
    (sum, row, i) => (job < 0 || row === job ? sum + waits.to_s[i] - waits.from_s[i] : sum),
    0,
  );
  const most = Math.max(0, ...times);
  return most > 0 ? { cause: waits.causes[times.indexOf(most)], part: most / all } : null;
}
