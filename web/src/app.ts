// What every view gets.
import { layoutOf, type Layout } from "./cluster";
import { lineColour, lineDash } from "./palette";
import type { ReportData, Run } from "./schema";
import type { Store } from "./state";

export class App {
  readonly layout: Layout;
  readonly rowOfId = new Map<string, number>();

  constructor(
    readonly data: ReportData,
    readonly store: Store,
  ) {
    this.layout = layoutOf(data.cluster);
    data.jobs.id.forEach((id, row) => {
      if (!this.rowOfId.has(id)) this.rowOfId.set(id, row);
    });
  }

  get run(): Run {
    return this.data.runs[this.store.get("focus")];
  }

  // Runs that are compared, by number.
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

// A run's line as the charts draw it, as a small picture for legends.
export function swatch(run: number, bold = false): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = 48;
  canvas.height = 16;
  canvas.className = "swatch";
  canvas.setAttribute("aria-hidden", "true");
  const pen = canvas.getContext("2d")!;
  pen.strokeStyle = lineColour(run);
  pen.lineWidth = bold ? 6 : 4;
  pen.setLineDash(lineDash(run).map((d) => 2 * d));
  pen.beginPath();
  pen.moveTo(0, 8);
  pen.lineTo(48, 8);
  pen.stroke();
  return canvas;
}
