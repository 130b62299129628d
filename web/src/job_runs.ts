// The runs of all jobs as typed arrays: a view scans all of them for every picture.
import type { Run } from "./schema";

export interface JobRuns {
  count: number;
  job: Int32Array;
  gpu: Int32Array;
  gpus: Int32Array;
  begin: Float64Array;
  end: Float64Array;
  tier: Uint8Array;
}

const known = new WeakMap<Run, JobRuns>();

export function jobRunsOf(run: Run): JobRuns {
  let jobRuns = known.get(run);
  if (!jobRuns) {
    const h = run.holds;
    jobRuns = {
      count: h.job.length,
      job: Int32Array.from(h.job),
      gpu: Int32Array.from(h.gpu),
      gpus: Int32Array.from(h.gpus),
      begin: Float64Array.from(h.begin_s),
      end: Float64Array.from(h.end_s),
      tier: Uint8Array.from(h.tier),
    };
    known.set(run, jobRuns);
  }
  return jobRuns;
}

// Returns rows [first, end) of a job; runs are sorted by job. O(log runs).
export function rowsOfJob(jobRuns: JobRuns, job: number): [number, number] {
  return [lowerBound(jobRuns.job, job), lowerBound(jobRuns.job, job + 1)];
}

function lowerBound(sorted: Int32Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Returns the run on `gpu` at time `t`, or -1. O(runs).
export function jobRunAt(jobRuns: JobRuns, gpu: number, t: number): number {
  for (let i = 0; i < jobRuns.count; i++) {
    if (jobRuns.gpu[i] > gpu || gpu >= jobRuns.gpu[i] + jobRuns.gpus[i]) continue;
    if (jobRuns.begin[i] <= t && t < jobRuns.end[i]) return i;
  }
  return -1;
}

// Returns the run on each GPU at time `t`, -1 if it is free. O(runs + GPUs).
export function jobRunsAt(jobRuns: JobRuns, gpus: number, t: number): Int32Array {
  const onGpu = new Int32Array(gpus).fill(-1);
  for (let i = 0; i < jobRuns.count; i++) {
    if (t < jobRuns.begin[i] || jobRuns.end[i] <= t) continue;
    onGpu.fill(i, jobRuns.gpu[i], jobRuns.gpu[i] + jobRuns.gpus[i]);
  }
  return onGpu;
}

// One stay of a job: its GPUs from one moment to the next, on all of its nodes.
export interface Stay {
  begin: number;
  end: number;
  tier: number;
  gpus: number;
  rows: number[]; // of runs, by GPU
  moved: boolean; // on other GPUs than the previous stay
}

// Rows of one stay start together, so a row can only belong to a stay at the end of the list.
function openStay(stays: Stay[], begin: number, end: number): Stay | undefined {
  for (let k = stays.length - 1; k >= 0 && stays[k].begin === begin; k--) {
    if (stays[k].end === end) return stays[k];
  }
  return undefined;
}

// Returns the stays of a job in time order.
export function staysOf(jobRuns: JobRuns, job: number): Stay[] {
  const [first, last] = rowsOfJob(jobRuns, job);
  const stays: Stay[] = [];
  for (let i = first; i < last; i++) {
    const open = openStay(stays, jobRuns.begin[i], jobRuns.end[i]);
    const stay = open ?? {
      begin: jobRuns.begin[i],
      end: jobRuns.end[i],
      tier: 0,
      gpus: 0,
      rows: [],
      moved: false,
    };
    if (!open) stays.push(stay);
    stay.rows.push(i);
    stay.gpus += jobRuns.gpus[i];
    stay.tier = Math.max(stay.tier, jobRuns.tier[i]);
  }
  const where = (stay: Stay) =>
    stay.rows
      .map((i) => `${jobRuns.gpu[i]}+${jobRuns.gpus[i]}`)
      .sort()
      .join();
  for (let k = 1; k < stays.length; k++) stays[k].moved = where(stays[k]) !== where(stays[k - 1]);
  return stays;
}
