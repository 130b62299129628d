// Two runs job by job: which jobs finish sooner or later in the focused run than in another.
import type { App } from "./app";
import { onWidth, sizeCanvas } from "./canvas";
import { bdi, choice, el, scroller, section, table } from "./dom";
import { csv, saveCanvas, saveMenu, saveText } from "./download";
import { count, difference, duration, LOG_TICKS_S, percent, plural, tick } from "./format";
import { lineColour, readTheme } from "./palette";
import { quantile } from "./series";
import { area, rule, svgFile, text } from "./svg";

const HEIGHT = 380;
const LEFT = 62;
const BOTTOM = 40;
const LIST = 12; // jobs in each table
const SAME = 0.001; // relative difference below which a job's times count as equal
const NEAR_PX = 12;

// A job that finished in both runs, and its completion times, in seconds.
export interface Pair {
  job: number;
  before: number; // in the baseline
  after: number; // in the focused run
}

export function pairsOf(
  submit: number[],
  before: (number | null)[],
  after: (number | null)[],
): Pair[] {
  const pairs: Pair[] = [];
  for (let job = 0; job < submit.length; job++) {
    const [a, b] = [before[job], after[job]];
    if (a !== null && b !== null)
      pairs.push({ job, before: a - submit[job], after: b - submit[job] });
  }
  return pairs;
}

// The outcome of a job: sooner, later or equal, by the number of its colour.
const [SOONER, LATER, ALIKE] = [0, 1, 6];

function wayOf({ before, after }: Pair): number {
  if (after < before * (1 - SAME)) return SOONER;
  return after > before * (1 + SAME) ? LATER : ALIKE;
}

export function tally(pairs: Pair[]): {
  sooner: number;
  later: number;
  same: number;
  median: number | null;
} {
  const sooner = pairs.filter((pair) => wayOf(pair) === SOONER).length;
  const later = pairs.filter((pair) => wayOf(pair) === LATER).length;
  const ratios = Float64Array.from(
    pairs.filter((p) => p.before > 0),
    (p) => p.after / p.before,
  ).sort();
  return { sooner, later, same: pairs.length - sooner - later, median: quantile(ratios, 0.5) };
}

export function jobByJobSection(app: App): HTMLElement {
  const { runs, jobs } = app.data;
  const text = el("p", { class: "finding" });
  const lists = el("div", { class: "charts" });
  const plot = new Scatter(app);
  const other = choice(
    "Against",
    runs.map((run) => run.label),
    otherRun(app),
    (baseline) => {
      app.store.set({ baseline });
      other.select.selectedIndex = otherRun(app);
    },
  );
  let pairs: Pair[] = [];
  app.store.watch(["focus", "baseline", "theme"], () => {
    other.select.selectedIndex = otherRun(app);
    const base = runs[otherRun(app)];
    pairs = pairsOf(jobs.submit_s, base.outcome.finish_s, app.run.outcome.finish_s);
    text.replaceChildren(...sentence(app, base.label, pairs));
    plot.show(pairs, base.label);
    const gains = pairs.map((p) => p.before - p.after);
    const order = pairs.map((_, i) => i).sort((a, b) => gains[b] - gains[a] || a - b);
    const some = (rows: number[]) => rows.slice(0, LIST).map((i) => pairs[i]);
    const sooner = some(order.filter((i) => gains[i] > 0));
    const later = some(order.filter((i) => gains[i] < 0).reverse());
    lists.replaceChildren(
      list(app, "Most time gained", sooner),
      list(app, "Most time lost", later),
    );
  });
  const title = "Completion times, job by job";
  const menu = saveMenu(title, {
    SVG: () => saveText(`${title}.svg`, "image/svg+xml", plot.svg(title)),
    PNG: () => saveCanvas(`${title}.png`, plot.canvas),
    CSV: () => {
      const head = [
        "Job",
        "User",
        "GPUs",
        `JCT in ${runs[otherRun(app)].label}, s`,
        `JCT in ${app.run.label}, s`,
      ];
      const rows = pairs.map((p) => [
        jobs.id[p.job],
        app.user(jobs.user[p.job]),
        jobs.gpus[p.job],
        p.before,
        p.after,
      ]);
      saveText(`${title}.csv`, "text/csv", csv([head, ...rows]));
    },
  });
  return section(
    "job-by-job",
    "Two runs, job by job",
    el("div", { class: "bar" }, other.element),
    text,
    el("div", { class: "caption" }, el("h3", {}, title), menu),
    plot.box,
    lists,
  );
}

// Returns the baseline, or the first other run if the baseline is in focus.
function otherRun(app: App): number {
  const [focus, baseline] = [app.store.get("focus"), app.store.get("baseline")];
  if (baseline !== focus) return baseline;
  return focus === 0 ? 1 : 0;
}

function sentence(app: App, base: string, pairs: Pair[]): (Node | string)[] {
  const { sooner, later, same, median } = tally(pairs);
  return [
    "Under ",
    bdi(app.run.label),
    ` ${plural(sooner, "job")} finished sooner than under `,
    bdi(base),
    `, ${count(later)} later, and ${count(same)} at the same time` +
      (median === null
        ? "."
        : `; half of the jobs took at most ${percent(median, 0)} of their time there.`),
  ];
}

function list(app: App, title: string, pairs: Pair[]): HTMLElement {
  const { jobs } = app.data;
  if (pairs.length === 0) return el("div", {}, el("h3", {}, title), el("p", {}, "No job."));
  const link = ({ job }: Pair) =>
    el("a", { href: `#job/${encodeURIComponent(jobs.id[job])}` }, bdi(jobs.id[job]));
  const body = table<Pair>(
    title,
    [
      { title: "Job", text: true, cell: link },
      { title: "User", text: true, cell: (p) => bdi(app.user(jobs.user[p.job])) },
      { title: "GPUs", cell: (p) => count(jobs.gpus[p.job]) },
      { title: "JCT before", cell: (p) => duration(p.before) },
      { title: "now", cell: (p) => duration(p.after) },
      { title: "Change", cell: (p) => difference(p.after, p.before) },
    ],
    pairs,
  );
  return el("div", {}, el("h3", {}, title), scroller(title, body));
}

// Draws each job as a point: across, its time in the baseline; up, in the focused run; both logarithmic.
// Below the diagonal it gained. The tables beside it list the extremes.
class Scatter {
  readonly canvas = el("canvas", { role: "img" });
  readonly box = el("div", { class: "canvas-box scatter" }, this.canvas);
  private pairs: Pair[] = [];
  private base = "";
  private width = 0;
  private scale = { low: 1, high: 10 };

  constructor(private readonly app: App) {
    onWidth(this.box, (width) => {
      this.width = Math.min(width, 760);
      this.draw();
    });
    const tip = el("div", { class: "tip", hidden: true });
    this.box.append(tip);
    this.box.addEventListener("pointermove", (event) => this.point(event, tip));
    this.box.addEventListener("pointerleave", () => (tip.hidden = true));
    this.box.addEventListener("click", (event) => {
      const near = this.nearest(event);
      if (near) this.app.openJob(near.job);
    });
  }

  show(pairs: Pair[], base: string): void {
    this.pairs = pairs;
    this.base = base;
    const { sooner, later } = tally(pairs);
    this.canvas.setAttribute(
      "aria-label",
      `Completion times of ${count(pairs.length)} jobs: ${count(sooner)} below the diagonal, sooner; ${count(later)} above it, later.`,
    );
    const all = pairs.flatMap((p) => [p.before, p.after]).filter((t) => t > 0);
    const low = all.reduce((a, b) => Math.min(a, b), Infinity);
    const high = all.reduce((a, b) => Math.max(a, b), 0);
    this.scale = all.length
      ? { low: low / 1.2, high: Math.max(high * 1.2, low * 10) }
      : { low: 1, high: 10 };
    this.draw();
  }

  private at(t: number): number {
    const { low, high } = this.scale;
    return Math.log(Math.max(t, low) / low) / Math.log(high / low);
  }
  private x(t: number): number {
    return LEFT + this.at(t) * (this.width - LEFT - 8);
  }
  private y(t: number): number {
    return (1 - this.at(t)) * (HEIGHT - BOTTOM - 8) + 8;
  }

  private draw(): void {
    if (!this.width) return;
    const theme = readTheme();
    const pen = sizeCanvas(this.canvas, this.width, HEIGHT);
    pen.fillStyle = theme.paper;
    pen.fillRect(0, 0, this.width, HEIGHT);
    this.drawAxes(pen);
    // Points overlap: the more there are, the fainter each is.
    pen.globalAlpha = Math.max(0.15, Math.min(0.75, 2500 / (this.pairs.length || 1)));
    const size = this.pairs.length > 2000 ? 3 : 5;
    for (const p of this.pairs) {
      pen.fillStyle = lineColour(wayOf(p));
      pen.fillRect(this.x(p.before) - size / 2, this.y(p.after) - size / 2, size, size);
    }
    pen.globalAlpha = 1;
  }

  // Returns the same picture as a file.
  svg(title: string): string {
    const theme = readTheme();
    const { low, high } = this.scale;
    const bottom = HEIGHT - BOTTOM;
    const parts = LOG_TICKS_S.filter((t) => low <= t && t <= high).flatMap((t) => [
      rule(this.x(t), 8, this.x(t), bottom, theme.rule),
      rule(LEFT, this.y(t), this.width - 8, this.y(t), theme.rule),
      text(this.x(t), bottom + 14, tick(t), theme.muted, 'text-anchor="middle"'),
      text(LEFT - 6, this.y(t) + 4, tick(t), theme.muted, 'text-anchor="end"'),
    ]);
    parts.push(rule(this.x(low), this.y(low), this.x(high), this.y(high), theme.muted));
    for (const way of [SOONER, LATER, ALIKE]) {
      const points = this.pairs.filter((p) => wayOf(p) === way);
      const path = points
        .map((p) => area(this.x(p.before) - 1, this.y(p.after) - 1, 2, 2))
        .join("");
      parts.push(`<path d="${path}" fill="${lineColour(way)}" fill-opacity="0.6"/>`);
    }
    parts.push(
      text(this.width - 10, HEIGHT - 8, `JCT under ${this.base} →`, theme.ink, 'text-anchor="end"'),
    );
    parts.push(text(LEFT + 6, 20, `↑ under ${this.app.run.label}`, theme.ink));
    const about = this.canvas.getAttribute("aria-label") ?? "";
    return svgFile(this.width, HEIGHT, title, about, theme, parts);
  }

  private drawAxes(pen: CanvasRenderingContext2D): void {
    const theme = readTheme();
    const { low, high } = this.scale;
    pen.font = "11px system-ui, sans-serif";
    for (const t of LOG_TICKS_S.filter((v) => low <= v && v <= high)) {
      pen.fillStyle = theme.rule;
      pen.fillRect(Math.round(this.x(t)), 8, 1, HEIGHT - BOTTOM - 8);
      pen.fillRect(LEFT, Math.round(this.y(t)), this.width - LEFT - 8, 1);
      pen.fillStyle = theme.muted;
      pen.textAlign = "center";
      pen.fillText(tick(t), this.x(t), HEIGHT - BOTTOM + 14);
      pen.textAlign = "right";
      pen.fillText(tick(t), LEFT - 6, this.y(t) + 4);
    }
    pen.fillText(`JCT under ${this.base} →`.slice(0, 60), this.width - 10, HEIGHT - 8);
    pen.textAlign = "left";
    pen.fillText(`↑ under ${this.app.run.label}`.slice(0, 60), LEFT + 6, 20);
    pen.strokeStyle = theme.muted;
    pen.setLineDash([5, 4]);
    pen.beginPath();
    pen.moveTo(this.x(low), this.y(low));
    pen.lineTo(this.x(high), this.y(high));
    pen.stroke();
    pen.setLineDash([]);
  }

  private nearest(event: MouseEvent): Pair | null {
    const frame = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    let best: Pair | null = null;
    let least = NEAR_PX;
    for (const p of this.pairs) {
      const far = Math.hypot(this.x(p.before) - x, this.y(p.after) - y);
      if (far < least) [best, least] = [p, far];
    }
    return best;
  }

  private point(event: PointerEvent, tip: HTMLElement): void {
    const near = this.nearest(event);
    tip.hidden = near === null;
    if (!near) return;
    const { jobs } = this.app.data;
    tip.replaceChildren(
      el("b", {}, bdi(jobs.id[near.job])),
      el("br"),
      `${duration(near.before)} → ${duration(near.after)}, `,
      plural(jobs.gpus[near.job], "GPU"),
    );
    tip.style.left = `${Math.min(this.x(near.before) + 12, Math.max(0, this.width - 210))}px`;
    tip.style.top = `${this.y(near.after) + 12}px`;
  }
}
