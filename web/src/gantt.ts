// The timeline: GPUs from top to bottom, time from left to right, jobs as bars. gantt_input.ts
// moves the view.
import type { App } from "./app";
import { bandsOf, unitEdges, type Bands } from "./bands";
import { sizeCanvas } from "./canvas";
import type { Layout } from "./cluster";
import { momentTicks, momentTickTexts } from "./format";
import { jobRunAt, jobRunsOf, type JobRuns } from "./job_runs";
import { readTheme, rgb, typeShade, type Classes, type Theme } from "./palette";
import { rasterize, toPixels, type View } from "./raster";

const HEIGHT = 440;
const BOTTOM = 24;
const LABEL_PX = 12; // minimum distance of row labels
const STRIP = 8; // width of the strip of GPU types
const TYPE_NAME = 44; // room for a type's name

export class Gantt {
  readonly canvas = document.createElement("canvas");
  view: View = { t0: 0, t1: 1, p0: 0, p1: 1 };
  hover: { t: number; gpu: number } | null = null;
  onview: (unit: string) => void = () => undefined; // called with the unit of a row after the view changed

  private readonly base = document.createElement("canvas"); // everything except cursor and highlight
  private bands!: Bands;
  private jobRuns!: JobRuns;
  classes!: Classes; // colour classes of jobs
  private theme!: Theme;
  private end = 1; // end of time
  private width = 0;
  private stale = true;
  private frame = 0;

  constructor(private readonly app: App) {
    // Printing does not wait for the next frame.
    addEventListener("beforeprint", () => this.width && this.draw());
  }

  // Called after a change of the run, the colours or the theme.
  reload(classes: Classes): void {
    const jobRuns = jobRunsOf(this.app.run);
    if (jobRuns !== this.jobRuns) {
      const whole = this.jobRuns === undefined || this.isWhole();
      this.jobRuns = jobRuns;
      this.end = Math.max(
        1e-3,
        jobRuns.end.reduce((a, b) => Math.max(a, b), 0),
      );
      if (whole) this.view = this.whole();
      else this.look(this.view);
    }
    this.classes = classes;
    this.theme = readTheme();
    this.redraw();
  }

  resize(width: number): void {
    this.width = width;
    this.redraw();
  }

  whole(): View {
    return { t0: 0, t1: this.end, p0: 0, p1: this.app.layout.gpus };
  }

  isWhole(): boolean {
    const { t0, t1, p0, p1 } = this.whole();
    const v = this.view;
    return v.t0 <= t0 && v.t1 >= t1 && v.p0 <= p0 && v.p1 >= p1;
  }

  // Shows `view`, clamped to the existing range.
  look(view: View): void {
    const [t0, t1] = clamp(view.t0, view.t1, Math.min(this.end, 1e-2), this.end);
    const gpus = this.app.layout.gpus;
    const [p0, p1] = clamp(view.p0, view.p1, Math.min(gpus, 2), gpus);
    this.view = { t0, t1, p0, p1 };
    this.app.store.set({ view: this.isWhole() ? null : this.view });
    this.redraw();
  }

  // Redraws everything at the next frame; `stale` false: cursor and highlight only.
  redraw(stale = true): void {
    this.stale ||= stale;
    if (this.frame || !this.width) return;
    this.frame = requestAnimationFrame(() => this.draw());
  }

  // The left edge of the bars: right of the names of rows and of the strip of GPU types.
  get left(): number {
    const strip = this.hasTypes ? STRIP : 0;
    return (this.width < 600 ? 66 : 120) + strip + (this.namesTypes ? TYPE_NAME : 0);
  }
  private get hasTypes(): boolean {
    return this.app.data.cluster.gpu_types.length > 1;
  }
  private get namesTypes(): boolean {
    return this.hasTypes && this.width >= 600;
  }
  private get plotWidth(): number {
    return Math.max(10, this.width - this.left - 2);
  }
  private readonly plotHeight = HEIGHT - BOTTOM;

  x(t: number): number {
    return this.left + ((t - this.view.t0) / (this.view.t1 - this.view.t0)) * this.plotWidth;
  }
  y(place: number): number {
    return ((place - this.view.p0) / (this.view.p1 - this.view.p0)) * this.plotHeight;
  }
  // Returns the time and place at a point of the canvas.
  at(x: number, y: number): { t: number; place: number } {
    const { t0, t1, p0, p1 } = this.view;
    return {
      t: t0 + ((x - this.left) / this.plotWidth) * (t1 - t0),
      place: p0 + (y / this.plotHeight) * (p1 - p0),
    };
  }
  gpuAt(place: number): number {
    const last = this.app.layout.gpus - 1;
    return this.app.layout.gpuAtPlace[Math.min(last, Math.max(0, Math.floor(place)))];
  }

  private draw(): void {
    this.frame = 0;
    if (this.stale) this.drawBase();
    this.stale = false;
    const pen = sizeCanvas(this.canvas, this.width, HEIGHT);
    pen.drawImage(this.base, 0, 0, this.width, HEIGHT);
    pen.save();
    pen.beginPath();
    pen.rect(this.left, 0, this.plotWidth, this.plotHeight);
    pen.clip();
    this.drawCursor(pen);
    pen.restore();
  }

  private drawBase(): void {
    const pen = sizeCanvas(this.base, this.width, HEIGHT);
    pen.fillStyle = this.theme.paper;
    pen.fillRect(0, 0, this.width, HEIGHT);
    this.bands = bandsOf(this.app.data.cluster, this.app.layout, this.view, this.plotHeight);
    this.onview(this.bands.unit);
    pen.save();
    pen.beginPath();
    pen.rect(this.left, 0, this.plotWidth, this.plotHeight);
    pen.clip();
    this.drawCells(pen);
    this.drawEdges(pen);
    if (this.bands.single) this.drawBars(pen);
    pen.restore();
    this.drawTimeAxis(pen);
    this.drawRowAxis(pen);
    if (this.hasTypes) this.drawTypes(pen);
  }

  private drawCells(pen: CanvasRenderingContext2D): void {
    const { edge } = this.bands;
    const seen = { ...this.view, p0: edge[0], p1: edge[edge.length - 1] };
    const columns = Math.round(this.plotWidth * (this.base.width / this.width));
    const raster = rasterize(
      this.jobRuns,
      this.app.layout.placeOfGpu,
      seen,
      columns,
      this.bands,
      this.classes.of,
      this.classes.colours.map(rgb),
    );
    const single = this.bands.single ? null : rgb(this.theme.accent);
    const pixels = toPixels(raster, rgb(this.theme.paper), single);
    const picture = document.createElement("canvas");
    picture.width = columns;
    picture.height = raster.rows;
    picture.getContext("2d")!.putImageData(new ImageData(pixels, columns, raster.rows), 0, 0);
    pen.imageSmoothingEnabled = false;
    for (let row = 0; row < raster.rows; row++) {
      const top = this.y(edge[row]);
      const height = this.y(edge[row + 1]) - top;
      pen.drawImage(picture, 0, row, columns, 1, this.left, top, this.plotWidth, height);
    }
  }

  // Draws lines between rows, nodes and racks, each if there is room.
  private drawEdges(pen: CanvasRenderingContext2D): void {
    const { cluster } = this.app.data;
    const lines = (edges: number[], room: number, colour: string) => {
      const most = this.plotHeight / room;
      const inside = edges.filter((p) => this.view.p0 < p && p < this.view.p1);
      if (inside.length > most) return;
      pen.fillStyle = colour;
      for (const p of inside)
        pen.fillRect(this.left, Math.round(this.y(p)) - 0.5, this.plotWidth, 1);
    };
    if (!this.bands.single) lines(this.bands.edge, 5, this.theme.paper); // else bars have ends
    lines(unitEdges(cluster, this.app.layout, 1), 6, this.theme.rule);
    lines(
      unitEdges(cluster, this.app.layout, Infinity),
      8,
      this.bands.single ? this.theme.muted : this.theme.rule,
    );
  }

  // Draws ends and names of bars that are wide enough.
  private drawBars(pen: CanvasRenderingContext2D): void {
    const { jobRuns } = this;
    const colours = this.classes.colours.map((colour) => labelInk(rgb(colour)));
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    this.eachBar((i, x, y, width, height) => {
      if (width < 4 || height < 3) return;
      pen.fillStyle = this.theme.paper;
      pen.fillRect(x + width - 1, y, 1, height);
      if (height >= 5) pen.fillRect(x, y + height - 1, width, 1);
      if (width < 34 || height < 11) return;
      pen.fillStyle = colours[this.classes.of[jobRuns.job[i]]];
      const from = Math.max(x, this.left) + 4;
      const room = Math.min(x + width, this.width) - from - 4;
      const text = fit(pen, this.app.data.jobs.id[jobRuns.job[i]], room);
      if (text) pen.fillText(text, from, y + height / 2);
    });
  }

  private eachBar(visit: (i: number, x: number, y: number, w: number, h: number) => void): void {
    const { jobRuns, view } = this;
    for (let i = 0; i < jobRuns.count; i++) {
      if (jobRuns.end[i] <= view.t0 || view.t1 <= jobRuns.begin[i]) continue;
      const place = this.app.layout.placeOfGpu[jobRuns.gpu[i]];
      if (place >= view.p1 || place + jobRuns.gpus[i] <= view.p0) continue;
      const x = this.x(jobRuns.begin[i]);
      const y = this.y(place);
      visit(i, x, y, this.x(jobRuns.end[i]) - x, this.y(place + jobRuns.gpus[i]) - y);
    }
  }

  private drawTimeAxis(pen: CanvasRenderingContext2D): void {
    const { t0, t1 } = this.view;
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "top";
    pen.textAlign = "center";
    const ticks = momentTicks(t0, t1, Math.max(2, this.plotWidth / 110));
    const texts = momentTickTexts(ticks);
    for (const [i, t] of ticks.entries()) {
      const text = texts[i];
      const half = pen.measureText(text).width / 2;
      const x = Math.min(this.width - half, this.x(t));
      pen.fillStyle = this.theme.rule;
      pen.fillRect(Math.round(this.x(t)), this.plotHeight, 1, 4);
      pen.fillStyle = this.theme.muted;
      pen.fillText(text, x, this.plotHeight + 7);
    }
    pen.textAlign = "left";
    pen.fillStyle = this.theme.rule;
    pen.fillRect(this.left, this.plotHeight, this.plotWidth, 1);
  }

  // Draws the names of GPUs, nodes or racks: the finest level at which the names fit.
  private drawRowAxis(pen: CanvasRenderingContext2D): void {
    const { cluster } = this.app.data;
    const { nodes } = cluster;
    const { layout } = this.app;
    const gpuPx = this.plotHeight / (this.view.p1 - this.view.p0);
    const nodeEdges = unitEdges(cluster, layout, 1);
    const nodePx = (gpuPx * layout.gpus) / Math.max(1, nodeEdges.length - 1);
    const nodeAt = (place: number) => layout.nodeOfGpu[layout.gpuAtPlace[place]];
    const byGpu = gpuPx >= LABEL_PX && this.bands.single;
    // The name of a single rack is useless; the names of some nodes are better.
    const byNode = nodePx >= LABEL_PX || (cluster.racks <= 2 && nodePx >= 2);
    const edges = byGpu
      ? this.bands.edge
      : byNode
        ? nodeEdges
        : unitEdges(cluster, layout, Infinity);
    const label = (place: number) => {
      const node = nodeAt(place);
      if (byGpu) return `${nodes.name[node]}:${layout.gpuAtPlace[place] - layout.firstGpu[node]}`;
      return byNode ? nodes.name[node] : `rack ${nodes.rack[node]}`;
    };
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = this.theme.muted;
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    let last = -LABEL_PX;
    const right = this.width < 600 ? 60 : 114;
    for (let k = 0; k + 1 < edges.length; k++) {
      if (edges[k + 1] <= this.view.p0 || this.view.p1 <= edges[k]) continue;
      const top = Math.max(0, this.y(edges[k]));
      const y = Math.max(6, (top + Math.min(this.plotHeight, this.y(edges[k + 1]))) / 2);
      if (y - last < LABEL_PX) continue;
      pen.fillText(fit(pen, label(edges[k]), right - 4), right, y);
      last = y;
    }
    pen.textAlign = "left";
  }

  // Draws each stretch of GPUs of one type as a strip, with its name if there is room.
  private drawTypes(pen: CanvasRenderingContext2D): void {
    const { cluster } = this.app.data;
    const { layout, view } = this;
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    const typeAt = (place: number) =>
      cluster.nodes.type[layout.nodeOfGpu[layout.gpuAtPlace[place]]];
    const last = Math.min(layout.gpus, Math.ceil(view.p1));
    for (let from = Math.floor(view.p0); from < last;) {
      const type = typeAt(from);
      let to = from + 1;
      while (to < last && typeAt(to) === type) to++;
      const top = Math.max(0, this.y(from));
      const bottom = Math.min(this.plotHeight, this.y(to));
      pen.fillStyle = typeShade(type);
      pen.fillRect(this.left - STRIP, top, STRIP - 2, Math.max(1, bottom - top - 1));
      if (this.namesTypes && bottom - top >= LABEL_PX) {
        pen.fillStyle = this.theme.ink;
        const name = fit(pen, cluster.gpu_types[type], TYPE_NAME - 4);
        pen.fillText(name, this.left - STRIP - TYPE_NAME, (top + bottom) / 2);
      }
      from = to;
    }
  }

  private get layout(): Layout {
    return this.app.layout;
  }

  // Draws the cursor, and all bars of the job under it or under the pointer.
  private drawCursor(pen: CanvasRenderingContext2D): void {
    const { store, layout } = this.app;
    const cursor = { t: store.get("time_s"), gpu: store.get("gpu") };
    for (const point of this.hover ? [cursor, this.hover] : [cursor]) {
      const jobRun = jobRunAt(this.jobRuns, point.gpu, point.t);
      if (jobRun < 0) continue;
      const job = this.jobRuns.job[jobRun];
      pen.strokeStyle = this.theme.ink;
      pen.lineWidth = point === cursor ? 2 : 1.5;
      this.eachBar((i, x, y, w, h) => {
        if (this.jobRuns.job[i] === job) pen.strokeRect(x, y, Math.max(1, w), Math.max(1, h));
      });
    }
    pen.fillStyle = this.theme.cursor;
    pen.fillRect(Math.round(this.x(cursor.t)) - 1, 0, 2, this.plotHeight);
    const y = this.y(layout.placeOfGpu[cursor.gpu] + 0.5);
    pen.fillRect(this.x(cursor.t) - 6, y - 1, 12, 2);
  }
}

// Returns [from, to) moved into [0, end), at least `least` and at most `end` wide.
export function clamp(from: number, to: number, least: number, end: number): [number, number] {
  const width = Math.min(end, Math.max(least, to - from));
  const middle = (from + to) / 2;
  const start = Math.min(end - width, Math.max(0, middle - width / 2));
  return [start, start + width];
}

// Black or white, whichever has the higher contrast with the colour (WCAG 2, relative luminance).
function labelInk(colour: [number, number, number]): string {
  const [r, g, b] = colour.map((v) => (v / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}

// Returns the text, cut to the width; "" if fewer than three letters fit.
function fit(pen: CanvasRenderingContext2D, text: string, room: number): string {
  if (pen.measureText(text).width <= room) return text;
  const letters = [...text.slice(0, 60)];
  while (letters.length > 3 && pen.measureText(`${letters.join("")}…`).width > room) letters.pop();
  const cut = `${letters.join("")}…`;
  return pen.measureText(cut).width <= room ? cut : "";
}
