// The map: every GPU as a square, by node and rack, coloured by its job at the cursor's time. Free GPUs
// are hollow.
import type { App } from "./app";
import { sizeCanvas } from "./canvas";
import { jobRunsAt, jobRunsOf } from "./job_runs";
import { readTheme, typeShade, type Classes } from "./palette";
import { typesName } from "./types";

const MOST_HEIGHT = 440;
const LABEL = 18; // height of a rack's name
const TYPE_LINES_FROM = 9; // minimum size of squares that differ visibly from such a line
const TYPE_LINE = 3; // height of the line for a node's GPU type, with the gap below

interface Plan {
  size: number; // size of a square and its gap
  height: number;
  x: Int32Array; // position of each GPU
  y: Int32Array;
  racks: { rack: number; x: number; y: number; width: number }[];
}

// Returns the number of columns of GPUs in the drawing of a node.
const columnsOf = (gpus: number) => (gpus <= 4 ? gpus : Math.ceil(gpus / Math.ceil(gpus / 8)));

// Returns the layout with the largest squares that fit the cluster into the width and the maximum height.
function planFor(app: App, width: number): Plan {
  for (let size = 18; ; size--) {
    const plan = planWith(app, width, size);
    if (plan.height <= MOST_HEIGHT || size <= 4) return plan;
  }
}

function planWith({ data, layout }: App, width: number, size: number): Plan {
  const { nodes } = data.cluster;
  // The gap between nodes, with room for the line of their GPU type if there are several types.
  const lines = data.cluster.gpu_types.length > 1 && size >= TYPE_LINES_FROM;
  const gap = Math.max(lines ? TYPE_LINE + 2 : 2, Math.round(size / 3));
  const plan: Plan = {
    size,
    height: 0,
    x: new Int32Array(layout.gpus),
    y: new Int32Array(layout.gpus),
    racks: [],
  };
  let [left, top, bottom] = [0, 0, 0]; // start of the next rack, and bottom of this line
  for (const members of racksOf(data.cluster.nodes.rack, layout.order)) {
    const wide = Math.max(...members.map((node) => columnsOf(nodes.gpus[node]))) * size + gap;
    const tall =
      Math.max(...members.map((n) => Math.ceil(nodes.gpus[n] / columnsOf(nodes.gpus[n])))) * size +
      gap;
    const fitting = Math.max(1, Math.floor(width / wide));
    const square = Math.ceil(Math.sqrt((members.length * tall * 2.2) / wide));
    const columns = Math.min(members.length, fitting, Math.max(square, Math.ceil(70 / wide)));
    const rackWidth = Math.max(columns * wide, 60);
    const rackHeight = LABEL + Math.ceil(members.length / columns) * tall;
    if (left > 0 && left + rackWidth > width) [left, top] = [0, bottom + 8];
    plan.racks.push({ rack: nodes.rack[members[0]], x: left, y: top, width: rackWidth });
    members.forEach((node, k) => {
      const x = left + (k % columns) * wide;
      const y = top + LABEL + Math.floor(k / columns) * tall;
      const across = columnsOf(nodes.gpus[node]);
      for (let i = 0; i < nodes.gpus[node]; i++) {
        plan.x[layout.firstGpu[node] + i] = x + (i % across) * size;
        plan.y[layout.firstGpu[node] + i] = y + Math.floor(i / across) * size;
      }
    });
    bottom = Math.max(bottom, top + rackHeight);
    left += rackWidth + 14;
  }
  plan.height = bottom;
  return plan;
}

// Returns the nodes of each rack, in the order of display.
function racksOf(rack: number[], order: number[]): number[][] {
  const racks: number[][] = [];
  order.forEach((node, k) => {
    if (k === 0 || rack[node] !== rack[order[k - 1]]) racks.push([]);
    racks[racks.length - 1].push(node);
  });
  return racks;
}

const hasTypes = (app: App) => app.data.cluster.gpu_types.length > 1;

// Returns its name, and its GPU types if the cluster has several.
function rackText(app: App, rack: number): string {
  const { cluster, runs } = app.data;
  const name = runs[0].summary.racks?.[rack]?.name ?? `rack ${rack}`;
  if (!hasTypes(app)) return name;
  const mask = cluster.nodes.rack.reduce(
    (types, at, node) => (at === rack ? types | (1 << cluster.nodes.type[node]) : types),
    0,
  );
  return `${name}: ${typesName(cluster, mask)}`;
}

export class ClusterMap {
  readonly canvas = document.createElement("canvas");
  hover = -1; // GPU under the pointer
  private plan: Plan | null = null;
  private classes!: Classes;
  private frame = 0;
  private width = 0;

  constructor(private readonly app: App) {
    addEventListener("beforeprint", () => this.plan && this.draw(this.plan));
  }

  reload(classes: Classes): void {
    this.classes = classes;
    this.redraw();
  }

  resize(width: number): void {
    this.width = width;
    this.plan = planFor(this.app, width);
    this.redraw();
  }

  redraw(): void {
    if (!this.plan || this.frame) return;
    this.frame = requestAnimationFrame(() => this.draw(this.plan!));
  }

  // Returns the GPU at a point of the canvas, or -1.
  gpuAt(x: number, y: number): number {
    if (!this.plan) return -1;
    const { size } = this.plan;
    return this.plan.x.findIndex((left, gpu) => {
      const top = this.plan!.y[gpu];
      return left <= x && x < left + size && top <= y && y < top + size;
    });
  }

  // Returns the nearest GPU from `gpu` in a direction; `gpu` itself if there is none.
  neighbour(gpu: number, dx: number, dy: number): number {
    if (!this.plan) return gpu;
    const { x, y } = this.plan;
    let best = gpu;
    let least = Infinity;
    for (let other = 0; other < x.length; other++) {
      const ahead = (x[other] - x[gpu]) * dx + (y[other] - y[gpu]) * dy;
      const aside = Math.abs((x[other] - x[gpu]) * dy) + Math.abs((y[other] - y[gpu]) * dx);
      if (ahead <= 0 || aside > ahead) continue;
      if (ahead + 2 * aside < least) [best, least] = [other, ahead + 2 * aside];
    }
    return best;
  }

  // Draws a line over each node in the shade of its GPU type.
  private drawTypes(pen: CanvasRenderingContext2D, plan: Plan): void {
    const { nodes } = this.app.data.cluster;
    const { firstGpu } = this.app.layout;
    nodes.gpus.forEach((gpus, node) => {
      if (gpus === 0) return;
      pen.fillStyle = typeShade(nodes.type[node]);
      const width = columnsOf(gpus) * plan.size - 1;
      pen.fillRect(
        plan.x[firstGpu[node]],
        plan.y[firstGpu[node]] - TYPE_LINE,
        width,
        TYPE_LINE - 1,
      );
    });
  }

  private draw(plan: Plan): void {
    this.frame = 0;
    const { store, layout, run } = this.app;
    const theme = readTheme();
    const pen = sizeCanvas(this.canvas, this.width, plan.height);
    const jobRuns = jobRunsOf(run);
    const onGpu = jobRunsAt(jobRuns, layout.gpus, store.get("time_s"));
    const cell = plan.size - (plan.size >= 8 ? 2 : 1);
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "top";
    pen.fillStyle = theme.muted;
    for (const { rack, x, y, width } of plan.racks) {
      pen.fillText(rackText(this.app, rack), x, y, width);
    }
    if (hasTypes(this.app) && plan.size >= TYPE_LINES_FROM) this.drawTypes(pen, plan);
    pen.strokeStyle = theme.rule;
    pen.lineWidth = 1;
    for (let gpu = 0; gpu < layout.gpus; gpu++) {
      if (onGpu[gpu] < 0) {
        pen.strokeRect(plan.x[gpu] + 0.5, plan.y[gpu] + 0.5, cell - 1, cell - 1);
      } else {
        pen.fillStyle = this.classes.colours[this.classes.of[jobRuns.job[onGpu[gpu]]]];
        pen.fillRect(plan.x[gpu], plan.y[gpu], cell, cell);
      }
    }
    const chosen = store.get("gpu");
    const around = [onGpu[chosen], this.hover >= 0 ? onGpu[this.hover] : -1];
    const jobs = around.filter((jobRun) => jobRun >= 0).map((jobRun) => jobRuns.job[jobRun]);
    pen.strokeStyle = theme.ink;
    pen.lineWidth = plan.size >= 8 ? 2 : 1;
    for (let gpu = 0; gpu < layout.gpus; gpu++) {
      if (onGpu[gpu] < 0 || !jobs.includes(jobRuns.job[onGpu[gpu]])) continue;
      pen.strokeRect(plan.x[gpu] + 0.5, plan.y[gpu] + 0.5, cell - 1, cell - 1);
    }
    pen.strokeStyle = theme.cursor;
    pen.lineWidth = 2;
    pen.strokeRect(plan.x[chosen] - 1, plan.y[chosen] - 1, cell + 2, cell + 2);
  }
}
