// The context that every view gets.
import { layoutOf, type Layout } from "./cluster";
import type { ReportData, Run } from "./schema";
import type { Store } from "./state";
import { typesOfJobs } from "./types";

export class App {
  readonly layout: Layout;
  readonly rowOfId = new Map<string, number>();
  private readonly types = new Map<Run, Uint32Array>();

  constructor(
    readonly data: ReportData,
    readonly store: Store,
  ) {
    this.layout = layoutOf(data.cluster);
    data.jobs.id.forEach((id, row) => {
      if (!this.rowOfId.has(id)) this.rowOfId.set(id, row);
    });
  }

  // Data of the focused run.
  get typesOfJobs(): Uint32Array {
    const { run } = this;
    let types = this.types.get(run);
    if (!types) this.types.set(run, (types = typesOfJobs(this.data, run)));
    return types;
  }

  get run(): Run {
    return this.data.runs[this.store.get("focus")];
  }

  // Returns the compared runs, by number.
  get shown(): number[] {
    return this.data.runs.map((_, i) => i).filter((i) => this.store.get("shown")[i]);
  }

  user(row: number): string {
    return this.data.users[row] ?? "–";
  }

  model(row: number): string {
    return this.data.models[row] || "–";
  }

  openJob(row: number): void {
    location.hash = `#job/${encodeURIComponent(this.data.jobs.id[row])}`;
  }
}
