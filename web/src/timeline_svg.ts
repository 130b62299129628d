// Draws the visible part of the timeline as an SVG file: every run of a job is a rectangle.
import { placeOf, type Layout } from "./cluster";
import { moment, momentTicks, momentTickTexts } from "./format";
import type { JobRuns } from "./job_runs";
import type { Classes } from "./palette";
import type { View } from "./raster";
import type { Cluster } from "./schema";
import { area, rule, svgFile, text, type Paper } from "./svg";

const WIDTH = 1200;
const HEIGHT = 480;
const LEFT = 130;
const TOP = 20;
const LABEL = 13; // minimum distance of names of nodes
const LEGEND = 120; // width of a name in the legend

export function timelineSvg(
  title: string,
  cluster: Cluster,
  layout: Layout,
  jobRuns: JobRuns,
  view: View,
  classes: Classes,
  paper: Paper,
): string {
  const x = (t: number) => {
    const part = (t - view.t0) / (view.t1 - view.t0);
    return LEFT + Math.min(1, Math.max(0, part)) * (WIDTH - LEFT - 10);
  };
  const y = (place: number) => {
    const part = (place - view.p0) / (view.p1 - view.p0);
    return TOP + Math.min(1, Math.max(0, part)) * HEIGHT;
  };
  const rects: string[][] = classes.colours.map(() => []);
  for (let i = 0; i < jobRuns.count; i++) {
    const place = layout.placeOfGpu[jobRuns.gpu[i]];
    if (jobRuns.end[i] <= view.t0 || view.t1 <= jobRuns.begin[i]) continue;
    if (place >= view.p1 || place + jobRuns.gpus[i] <= view.p0) continue;
    const [left, top] = [x(jobRuns.begin[i]), y(place)];
    const rect = area(left, top, x(jobRuns.end[i]) - left, y(place + jobRuns.gpus[i]) - top);
    rects[classes.of[jobRuns.job[i]]].push(rect);
  }
  const bottom = TOP + HEIGHT;
  const parts = classes.colours.map(
    (colour, k) => `<path d="${rects[k].join("")}" fill="${colour}"/>`,
  );
  classes.labels.forEach((label, k) => {
    const left = LEFT + LEGEND * k;
    const box = area(left, bottom + 32, 11, 11);
    parts.push(`<path d="${box}" fill="${classes.colours[k]}"/>`);
    parts.push(text(left + 16, bottom + 42, label, paper.ink));
  });
  const ticks = momentTicks(view.t0, view.t1, 8);
  const texts = momentTickTexts(ticks);
  for (const [i, t] of ticks.entries()) {
    parts.push(rule(x(t), bottom, x(t), bottom + 4, paper.muted));
    parts.push(text(x(t), bottom + 18, texts[i], paper.muted, 'text-anchor="middle"'));
  }
  parts.push(rule(LEFT, bottom, WIDTH - 10, bottom, paper.rule));
  let last = 0;
  for (const node of layout.order) {
    const place = placeOf(layout, node);
    const end = place + cluster.nodes.gpus[node];
    if (end === place || end <= view.p0 || place >= view.p1) continue;
    const middle = (y(place) + y(end)) / 2 + 4;
    if (middle - last < LABEL) continue;
    last = middle;
    const type =
      cluster.gpu_types.length > 1 ? ` ${cluster.gpu_types[cluster.nodes.type[node]]}` : "";
    const name = cluster.nodes.name[node].slice(0, 14) + type;
    parts.push(text(LEFT - 6, middle, name, paper.muted, 'text-anchor="end"'));
  }
  return svgFile(
    WIDTH,
    bottom + 56,
    title,
    `${moment(view.t0)} to ${moment(view.t1)}`,
    paper,
    parts,
  );
}
