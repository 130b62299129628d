// GPU types of jobs and users over time.
import { jobRunsOf } from "./job_runs";
import type { Cluster, ReportData, Run } from "./schema";

// The type of each GPU, by its number.
export function typeOfGpu({ nodes }: Cluster): Uint8Array {
  const types: number[] = [];
  nodes.gpus.forEach((gpus, node) => {
    for (let i = 0; i < gpus; i++) types.push(nodes.type[node]);
  });
  return Uint8Array.from(types);
}

export function gpusOfTypes({ gpu_types, nodes }: Cluster): number[] {
  const gpus = gpu_types.map(() => 0);
  nodes.gpus.forEach((n, node) => (gpus[nodes.type[node]] += n));
  return gpus;
}

// Returns the types on which each job ran: bit t for type t. O(runs).
export function typesOfJobs(data: ReportData, run: Run): Uint32Array {
  const typeOf = typeOfGpu(data.cluster);
  const masks = new Uint32Array(data.jobs.id.length);
  const { job, gpu } = run.holds;
  for (let i = 0; i < job.length; i++) masks[job[i]] |= 1 << typeOf[gpu[i]];
  return masks;
}

// Returns "V100+K80", in the cluster's order; "–" for a job that never ran.
export function typesName(cluster: Cluster, mask: number): string {
  return cluster.gpu_types.filter((_, t) => mask & (1 << t)).join("+") || "–";
}

// Returns the GPUs of each type in use, means over the bins of the run's load. With joined runs the values
// may be slightly too large. O(runs + bins that they touch).
export function usedByType(data: ReportData, run: Run): number[][] {
  const typeOf = typeOfGpu(data.cluster);
  const { bin_s, gpus_held } = run.load;
  const used = data.cluster.gpu_types.map(() => new Array<number>(gpus_held.length).fill(0));
  const jobRuns = jobRunsOf(run);
  for (let i = 0; i < jobRuns.count; i++) {
    const row = used[typeOf[jobRuns.gpu[i]]];
    const [begin, end] = [jobRuns.begin[i], jobRuns.end[i]];
    for (let k = Math.floor(begin / bin_s); k < row.length && k * bin_s < end; k++) {
      const time = Math.min(end, (k + 1) * bin_s) - Math.max(begin, k * bin_s);
      row[k] += (jobRuns.gpus[i] * time) / bin_s;
    }
  }
  return used;
}

// Returns the GPU-hours of each user on each type. O(runs).
export function hoursByUserAndType(data: ReportData, run: Run): Float64Array[] {
  const typeOf = typeOfGpu(data.cluster);
  const hours = data.users.map(() => new Float64Array(data.cluster.gpu_types.length));
  const jobRuns = jobRunsOf(run);
  for (let i = 0; i < jobRuns.count; i++) {
    const user = data.jobs.user[jobRuns.job[i]];
    if (user < 0) continue;
    hours[user][typeOf[jobRuns.gpu[i]]] += (jobRuns.gpus[i] * (jobRuns.end[i] - jobRuns.begin[i])) / 3600;
  }
  return hours;
}
