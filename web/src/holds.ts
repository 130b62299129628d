// The runs of all jobs ("holds") as typed arrays: a view scans all of them for every picture.
import type { Run } from "./schema";

export interface Holds {
  count: number;
  job: Int32Array;
  gpu: Int32Array;
  gpus: Int32Array;
  begin: Float64Array;
  end: Float64Array;
  tier: Uint8Array;
}

const known = new WeakMap<Run, Holds>();

export function holdsOf(run: Run): Holds {
  let holds = known.get(run);
  if (!holds) {
    const h = run.holds;
    holds = {
      count: h.job.length,
      job: Int32Array.from(h.job),
      gpu: Int32Array.from(h.gpu),
      gpus: Int32Array.from(h.gpus),
      begin: Float64Array.from(h.begin_s),
      end: Float64Array.from(h.end_s),
      tier: Uint8Array.from(h.tier),
    };
    known.set(run, holds);
  }
  return holds;
}

// Returns rows [first, end) of a job; holds are sorted by job. O(log holds).
export function rowsOfJob(holds: Holds, job: number): [number, number] {
  return [lowerBound(holds.job, job), lowerBound(holds.job, job + 1)];
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

// Returns the hold on `gpu` at time `t`, or -1. O(holds).
export function holdAt(holds: Holds, gpu: number, t: number): number {
  for (let i = 0; i < holds.count; i++) {
    if (holds.gpu[i] > gpu || gpu >= holds.gpu[i] + holds.gpus[i]) continue;
    if (holds.begin[i] <= t && t < holds.end[i]) return i;
  }
  return -1;
}

// Returns the hold on each GPU at time `t`, -1 if it is free. O(holds + GPUs).
export function holdsAt(holds: Holds, gpus: number, t: number): Int32Array {
  const held = new Int32Array(gpus).fill(-1);
  for (let i = 0; i < holds.count; i++) {
    if (t < holds.begin[i] || holds.end[i] <= t) continue;
    held.fill(i, holds.gpu[i], holds.gpu[i] + holds.gpus[i]);
  }
  return held;
}

// One stay of a job: its GPUs from one moment to the next, on all of its nodes.
export interface Stay {
  begin: number;
  end: number;
  tier: number;
  gpus: number;
  rows: number[]; // of holds, by GPU
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
export function staysOf(holds: Holds, job: number): Stay[] {
  const [first, last] = rowsOfJob(holds, job);
  const stays: Stay[] = [];
  for (let i = first; i < last; i++) {
    const open = openStay(stays, holds.begin[i], holds.end[i]);
    const stay = open ?? {
      begin: holds.begin[i],
      end: holds.end[i],
      tier: 0,
      gpus: 0,
      rows: [],
      moved: false,
    };
    if (!open) stays.push(stay);
    stay.rows.push(i);
    stay.gpus += holds.gpus[i];
    stay.tier = Math.max(stay.tier, holds.tier[i]);
  }
  const where = (stay: Stay) =>
    stay.rows
      .map((i) => `${holds.gpu[i]}+${holds.gpus[i]}`)
      .sort()
      .join();
  for (let k = 1; k < stays.length; k++) stays[k].moved = where(stays[k]) !== where(stays[k - 1]);
  return stays;
}
