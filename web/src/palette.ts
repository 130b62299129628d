// Colours. Categories have the colours of Okabe and Ito, which colour-blind readers can distinguish. All
// other colours are in the style sheet, so that both themes are written once.
import type { ReportData, Run } from "./schema";
import type { ColourBy } from "./state";

export interface Theme {
  ink: string;
  muted: string;
  rule: string;
  paper: string;
  accent: string;
  cursor: string;
}

export function readTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const value = (key: string) => style.getPropertyValue(`--${key}`).trim();
  return {
    ink: value("ink"),
    muted: value("muted"),
    rule: value("rule"),
    paper: value("paper"),
    accent: value("accent"),
    cursor: value("cursor"),
  };
}

const isDark = () => document.documentElement.dataset.theme === "dark";

// Blue, vermilion, green, purple, orange, sky, yellow; darker or lighter if the contrast with
// the paper is too low.
const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#b8589a", "#b97f00", "#2f97d0", "#6b6b6b"];
const DARK = ["#4ba3dd", "#e8793a", "#2bbd93", "#dd93bd", "#e69f00", "#8fd0f5", "#f0e442"];
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];

export function lineColour(run: number): string {
  return (isDark() ? DARK : LIGHT)[run % LIGHT.length];
}

// Beyond seven runs the dash distinguishes lines of one colour.
export function lineDash(run: number): number[] {
  return DASHES[Math.floor(run / LIGHT.length) % DASHES.length];
}

// Widest link of a gang, near to far, in the order of the numbers in schema.ts.
export const TIERS = ["pair", "node", "rack", "spine"];
export function tierColour(tier: number): string {
  const light = ["#9ac7e3", "#3f95c8", "#0b5c92", "#d55e00"];
  const dark = ["#bfe2f7", "#63b4e6", "#2b7db3", "#e8793a"];
  return (isDark() ? dark : light)[tier];
}

// GPU types in the order of the cluster: shades that differ from the colours of jobs. A name or a
// legend always gives the same information.
export function typeShade(type: number): string {
  const light = ["#30363c", "#8b949c", "#c9cfd4", "#5d666e", "#a9b1b8"];
  const dark = ["#f0f2f4", "#8d969e", "#4a535b", "#c3c9ce", "#697178"];
  return (isDark() ? dark : light)[type % light.length];
}

// The classes by which map and timeline colour jobs: the six largest and the rest, or sizes.
export interface Classes {
  of: Uint8Array; // class of each job
  labels: string[];
  colours: string[];
}

const SIZES = [1, 2, 4, 8, 16, 32];

export function sizeClass(gpus: number): number {
  let size = 0;
  while (size + 1 < SIZES.length && gpus >= SIZES[size + 1]) size++;
  return size;
}

export function sizeLabel(size: number): string {
  if (size + 1 === SIZES.length) return `${SIZES[size]} or more GPUs`;
  const from = SIZES[size];
  const to = SIZES[size + 1] - 1;
  return from === to ? (from === 1 ? "1 GPU" : `${from} GPUs`) : `${from}–${to} GPUs`;
}

export function classesOf(data: ReportData, run: Run, by: ColourBy): Classes {
  const { jobs } = data;
  if (by === "size") {
    const light = ["#a8d3ec", "#7db9dd", "#4e9bca", "#1f7ab0", "#0b5788", "#06345a"];
    const dark = ["#1d4a68", "#286a94", "#3a8cc0", "#64aede", "#9bd0f2", "#d8effc"];
    return {
      of: Uint8Array.from(jobs.gpus, sizeClass),
      labels: SIZES.map((_, i) => sizeLabel(i)),
      colours: isDark() ? dark : light,
    };
  }
  const column = by === "user" ? jobs.user : jobs.model;
  const names = by === "user" ? data.users : data.models;
  const weight = new Float64Array(names.length);
  const { holds: jobRuns } = run;
  for (let i = 0; i < jobRuns.job.length; i++) {
    const row = column[jobRuns.job[i]];
    if (row >= 0) weight[row] += jobRuns.gpus[i] * (jobRuns.end_s[i] - jobRuns.begin_s[i]);
  }
  const order = names.map((_, i) => i).sort((a, b) => weight[b] - weight[a] || a - b);
  const own = names.length <= 7 ? names.length : 6;
  const rank = new Uint8Array(names.length).fill(own);
  order.slice(0, own).forEach((row, i) => (rank[row] = i));
  const labels = order.slice(0, own).map((row) => names[row] || `no ${by} named`);
  if (own < names.length) labels.push(`${names.length - own} other ${by}s`);
  return {
    of: Uint8Array.from(column, (row) => (row < 0 ? own : rank[row])),
    labels,
    colours: [...(isDark() ? DARK : LIGHT).slice(0, own), "#8b9299"],
  };
}

export function rgb(hex: string): [number, number, number] {
  const value = parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}
