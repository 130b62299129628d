// The reader's choices. Views watch the keys that they draw and are notified after a change.

import type { View } from "./raster";

export type ColourBy = "user" | "model" | "size";

// The filter and the order of the table of jobs.
export interface JobFilter {
  text: string;
  status: number; // -1: any
  size: number; // -1: any
  type: number; // GPU type on which the job ran; -1: any
  sort: string; // title of a column; "": input order
  down: boolean;
}
export const ALL_JOBS: JobFilter = {
  text: "",
  status: -1,
  size: -1,
  type: -1,
  sort: "",
  down: false,
};

export interface State {
  focus: number; // the run of the detail views
  shown: boolean[]; // compared runs
  baseline: number;
  user: number; // user of the chart of one user
  time_s: number; // cursor of map and timeline
  gpu: number;
  view: View | null; // view of the timeline; null: all of it
  jobs: JobFilter;
  colourBy: ColourBy;
  theme: "light" | "dark"; // views are notified last, so that they read the new colours
}

export class Store {
  private readonly watchers: { keys: (keyof State)[]; tell: () => void }[] = [];

  constructor(private state: State) {}

  get all(): State {
    return this.state;
  }

  get<K extends keyof State>(key: K): State[K] {
    return this.state[key];
  }

  set(change: Partial<State>): void {
    const changed = (Object.keys(change) as (keyof State)[]).filter(
      (key) => this.state[key] !== change[key],
    );
    if (changed.length === 0) return;
    this.state = { ...this.state, ...change };
    for (const { keys, tell } of this.watchers) {
      if (keys.some((key) => changed.includes(key))) tell();
    }
  }

  // Calls the callback now and after each change of one of the keys.
  watch(keys: (keyof State)[], tell: () => void): void {
    this.watchers.push({ keys, tell });
    tell();
  }
}
