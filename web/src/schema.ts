// What a report embeds: the contract between fairlead/report/report_data.cc, which writes it, and the
// page, which reads it. One JSON object, columns instead of rows, gzip-compressed and in base64.
//
// Times are seconds since the first submission, rounded to 1 ms; `null` where there is none.
// A reference to another table is a row number of it; -1 stands for none.

export interface ReportData {
  version: 2;
  program: string; // "fairlead 0.1.0"
  title: string; // name of the folder that was reported on
  cluster: Cluster;
  users: string[];
  models: string[]; // "" is the model of jobs that name none
  jobs: JobTable;
  runs: Run[]; // one per policy and seed, in the order of the comparison
  comparison?: Comparison; // left out where there was one seed of each policy and no sweep
}

// The figures of all seeds and points of a sweep; `runs` are of the first.
export interface Comparison {
  points: {
    point: Record<string, number | string>; // what the sweep set; {} without a sweep
    policies: { policy: string; seeds: number; mean: Figures; min: Figures; max: Figures }[];
  }[];
}
// compare.json's figures: what a summary has of them.
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

export interface Holds {
  resolution_s: number;
  job: number[];
  gpu: number[]; // first GPU
  gpus: number[];
  begin_s: number[];
  end_s: number[];
  tier: number[]; // widest link of the gang: 0 GPU, 1 node, 2 rack, 3 spine
}

// Holds as they are embedded, which compresses to half: jobs and begins by what they add to the row
// before (to 0 in the first), and lengths instead of ends. The page sums them up when it reads them.
export interface EmbeddedHolds extends Omit<Holds, "job" | "begin_s" | "end_s"> {
  job_step: number[];
  begin_step_s: number[];
  for_s: number[];
}

export type JobStatus = 0 | 1 | 2 | 3; // finished, failed, rejected, pending

export interface Run {
  folder: string; // of this run's files, relative to the reported folder; "." for the folder itself
  label: string; // policy with the options that tell it from the others, and the seed where several
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
  // Cluster-wide means over bins of equal width, from the first submission on.
  load: {
    bin_s: number;
    gpus_held: number[]; // of all users
    gpus_up: number[]; // on nodes that are up
    // GPUs free on nodes that are partly held: room that whole-node gangs cannot use.
    gpus_fragmented: number[];
    jobs_running: number[];
    jobs_waiting: number[];
  };
  // For each user with a ticket: GPUs held and entitled to, means over the same bins. Users beyond
  // the 50 with most GPU time are left out.
  shares: { user: number[]; held: number[][]; entitled: number[][] };
  // What gangs that communicate lost to it; left out where nothing was lost.
  network?: {
    gpus_lost: number[]; // over the bins of `load`: as many GPUs as would do what was lost
    job_lost_gpu_s: number[]; // of each row of `jobs`
    rack_lost_gpu_s: number[]; // of each rack; a gang's is divided by its GPUs
  };
  // Who held which GPUs when: a job's gang has one row per node and run of neighbouring GPUs.
  // Where a run has more than about 300,000, pieces of one job on one place that are less than
  // `resolution_s` apart are joined, the least that is enough; 0: nothing was joined. By job, then
  // begin_s. Embedded as EmbeddedHolds.
  holds: Holds;
  // What the policy noted, by time, at most 200,000; `omitted` counts the rest.
  notes: {
    omitted: number;
    t_s: number[];
    kind: NoteKind[];
    job: number[];
    user: number[];
    other_user: number[];
    gpu_type: number[];
    value: number[]; // in the unit that the kind gives
  };
  // Why the 100 jobs that waited most waited: the ten longest waits of each, in at most three pieces. By
  // job, then from_s.
  waits?: {
    causes: string[]; // in words
    job: number[];
    from_s: number[];
    to_s: number[];
    cause: number[]; // of causes: that of most of the time
    part: number[]; // of the time
    free: number[]; // GPUs that the job could use, in the mean
    hole: number[]; // the most of these on one node
    other: number[]; // the job that GPUs were kept for or that went first, or -1
  };
}

// queue: the priority queue moved to; entitlement: GPUs of a type; trade: GPUs of a type that user
// sold to other_user; price: of a type; node_timer, rack_timer: seconds that the job still insists
// on one node, one rack; pass: stride pass; payoff: what a gang is worth beyond its price; score: how
// much the network matters to the job; saving: GPU-seconds that giving it this place saves;
// made_room: stopped for the job of that row; debt: GPU-seconds that a user is behind; rank: the part
// of all jobs that has at least as much work left.
export type NoteKind = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12;
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
];

// What the inputs did not say, or what is odd about them; grave: of more than 1 % of the jobs.
export interface AssumedLine {
  about: string;
  text: string;
  jobs: number;
  grave: boolean;
}

// summary.json as it is (docs/formats.md); the keys that the page uses.
export interface Summary {
  policy: string;
  options: string;
  seed: number;
  cluster: string;
  trace: string;
  settings?: Record<string, string>; // what --set gave
  assumed?: { lines: AssumedLine[] };
  racks?: { name: string; about: string }[]; // of a cluster that says more of its links
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
    throughput_share: number; // of the work done in contended time
    contended_entitled_gpu_hours?: number;
    contended_effective_gpu_hours?: number;
    jct_avg_s?: number | null;
  }[];
  // Left out where no user has one.
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
