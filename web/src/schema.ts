// The data in a report: the contract between fairlead/report/report_data.cc, which writes it, and the
// page, which reads it. One JSON object, columns instead of rows, gzip-compressed and in base64.
//
// Times are seconds since the first submission, rounded to 1 ms; `null` if there is none.
// A reference to another table is a row number of it; -1 means none.

export interface ReportData {
  version: 2;
  program: string; // that made the page: "fairlead 0.1.0", with its commit in parentheses if that is known
  title: string; // name of the reported folder
  first_submit_s?: number; // the first submission, on the clock of the trace
  cluster: Cluster;
  users: string[];
  models: string[]; // "" is the model of jobs without one
  jobs: JobTable;
  runs: Run[]; // one per policy and seed, in the order of the comparison
  comparison?: Comparison; // absent with one seed of each policy and no sweep
  // Sentences of compare.json about the runs; a warning begins with "! ". Absent for a run of simulate.
  answer?: string[];
}

// The figures of all seeds and points of a sweep; `runs` are for the first.
export interface Comparison {
  points: {
    point: Record<string, number | string>; // settings of the sweep; {} without a sweep
    policies: { policy: string; seeds: number; mean: Figures; min: Figures; max: Figures }[];
  }[];
}
// The figures of compare.json, as far as a summary has them.
export type Figures = Partial<Summary>;

// GPUs are numbered through the cluster, node after node.
export interface Cluster {
  name: string;
  gpu_types: string[];
  racks: number;
  nodes: { name: string[]; rack: number[]; type: number[]; gpus: number[] };
}

// Facts of a job that no scheduler changes, in input order. Runs refer to jobs by row.
export interface JobTable {
  id: string[];
  user: number[];
  model: number[];
  gpus: number[];
  submit_s: number[];
}

export interface JobRuns {
  resolution_s: number;
  job: number[];
  gpu: number[]; // first GPU
  gpus: number[];
  begin_s: number[];
  end_s: number[];
  tier: number[]; // widest link of the gang: 0 GPU, 1 node, 2 rack, 3 spine
}

// Runs of jobs in their embedded form, which compresses to half: jobs and begins as differences from
// the previous row (from 0 in the first), and lengths instead of ends. The page sums them up on reading.
export interface EmbeddedJobRuns extends Omit<JobRuns, "job" | "begin_s" | "end_s"> {
  job_step: number[];
  begin_step_s: number[];
  for_s: number[];
}

export type JobStatus = 0 | 1 | 2 | 3; // finished, failed, rejected, pending

export interface Run {
  folder: string; // folder of this run's files, relative to the reported folder; "." for the folder itself
  label: string; // policy with the options that distinguish it from the others, and the seed if there are several
  inputs_hash?: string; // names the program and all inputs of the run
  command?: string; // for a shell
  program?: string; // that made the run
  summary: Summary;
  // One entry per row of `jobs`.
  outcome: {
    start_s: (number | null)[];
    finish_s: (number | null)[];
    queue_s: (number | null)[];
    preemptions: number[];
    migrations: number[];
    status: JobStatus[];
  };
  // Means for the whole cluster over bins of equal width, from the first submission on.
  load: {
    bin_s: number;
    gpus_held: number[]; // GPUs in use by all users
    gpus_up: number[]; // GPUs on running nodes
    // Free GPUs on partly used nodes, which whole-node gangs cannot use.
    gpus_fragmented: number[];
    jobs_running: number[];
    jobs_waiting: number[];
  };
  // For each user with a ticket: GPUs in use and entitled, means over the same bins. Only the 50 users
  // with most GPU time are included.
  shares: { user: number[]; held: number[][]; entitled: number[][] };
  // Losses of gangs to communication; absent if nothing was lost.
  network?: {
    gpus_lost: number[]; // over the bins of `load`: number of GPUs that would do the lost work
    job_lost_gpu_s: number[]; // loss of each row of `jobs`
    rack_lost_gpu_s: number[]; // loss of each rack; the loss of a gang is divided by its GPUs
  };
  // The GPUs of each job over time: a job's gang has one row per node and group of neighbouring GPUs. If
  // there are more than about 300,000 rows, pieces of one job on one place that are less than
  // `resolution_s` apart are joined. It is the smallest sufficient value; 0: nothing was joined. Sorted by
  // job, then begin_s. Embedded as EmbeddedJobRuns.
  holds: JobRuns;
  // The policy's notes, by time, at most 200,000; `omitted` counts the rest.
  notes: {
    omitted: number;
    t_s: number[];
    kind: NoteKind[];
    job: number[];
    user: number[];
    other_user: number[];
    gpu_type: number[];
    value: number[]; // in the unit of the kind
  };
  // The causes for the 100 jobs with most waiting: the ten longest waits of each, in at most three pieces.
  // Sorted by job, then from_s.
  waits?: {
    causes: string[]; // in words
    job: number[];
    from_s: number[];
    to_s: number[];
    cause: number[]; // row of `causes`: the cause of most of the time
    part: number[]; // fraction of the time
    free: number[]; // mean free GPUs that the job could use
    hole: number[]; // the maximum of these on one node
    other: number[]; // the job for which GPUs were kept or that went first, or -1
  };
}

// queue: the new priority queue; entitlement: GPUs of a type; trade: GPUs of a type that user
// sold to other_user; price: of a type; node_timer, rack_timer: seconds for which the job still
// insists on one node, one rack; pass: stride pass; payoff: the worth of a gang beyond its price; score:
// sensitivity of the job to the network; saving: GPU-seconds saved by its new place; made_room: stopped for
// the job of that row; debt: GPU-seconds by which a user is behind; rank: value of a step for
// early finishes, in fractions of the largest; cut: evaluations of a decision that ended before the job.
export type NoteKind = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13;
export const NOTE_KINDS = [
  "queue",
  "entitlement",
  "trade",
  "price",
  "node_timer",
  "pass",
  "payoff",
  "rack_timer",
  "score",
  "saving",
  "made_room",
  "debt",
  "rank",
  "cut",
];

// Assumptions for missing inputs, and oddities of the inputs; grave: for more than 1 % of the jobs.
export interface AssumedLine {
  about: string;
  text: string;
  jobs: number;
  grave: boolean;
}

// The keys of summary.json (docs/formats.md) that the page uses.
export interface Summary {
  policy: string;
  options: string;
  seed: number;
  cluster: string;
  trace: string;
  settings?: Record<string, string>; // settings of --set
  // starts_at: the date of time 0 of the trace, if the trace has a calendar.
  assumed?: { lines: AssumedLine[]; starts_at?: string | null };
  racks?: { name: string; about: string }[]; // for a cluster file with more data about links
  jobs_read: number;
  finished: number;
  failed: number;
  rejected: number;
  pending: number;
  makespan_s: number | null;
  jct_avg_s: number | null;
  jct_p50_s: number | null;
  jct_p90_s: number | null;
  jct_p99_s: number | null;
  queue_avg_s: number | null;
  gpu_utilization: number | null;
  gpu_hours: number;
  preemptions: number;
  migrations: number;
  comm_time_share: number | null;
  placements: Record<string, number>;
  users: {
    user: string;
    group?: string;
    tickets: number;
    jobs: number;
    gpu_hours: number;
    work_gpu_hours: number;
    entitled_gpu_hours: number;
    throughput_share: number; // fraction of the work done in contended time
    contended_entitled_gpu_hours?: number;
    contended_effective_gpu_hours?: number;
    jct_avg_s?: number | null;
  }[];
  // Absent if no user has one.
  groups?: {
    group: string;
    tickets: number;
    quota: number | null;
    users: number;
    jobs: number;
    gpu_hours: number;
    entitled_gpu_hours: number;
  }[];
  fairness: Record<string, number | null>;
  bounds: { makespan_lower_s: number | null; jct_avg_lower_s: number | null };
}
