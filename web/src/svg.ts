// A line chart as an SVG file: the content of the canvas as lines and text, with its title and a legend.
import type { ChartSpec } from "./charts";
import { LOG_TICKS_S, momentTicks, momentTickTexts, tick, timeTicks } from "./format";

export interface Paper {
  ink: string;
  muted: string;
  rule: string;
  paper: string;
}

const WIDTH = 900;
const LEGEND = 18; // height of a line of the legend
const FRAME = { left: 70, right: 20, top: 44, height: 320 };
const TICKS = 5;

export function chartSvg(title: string, spec: ChartSpec, paper: Paper): string {
  const { left, right, top, height } = FRAME;
  const wide = WIDTH - left - right;
  const [low, high] = rangeOf(spec);
  const at = (v: number) => (spec.logX ? Math.log(v) : v);
  const [from, to] = [spec.x[0] ?? 0, spec.x[spec.x.length - 1] ?? 1];
  const x = (v: number) => left + (wide * (at(v) - at(from))) / (at(to) - at(from) || 1);
  const y = (v: number) => top + height * (1 - (v - low) / (high - low));
  const bottom = top + height;
  const total = bottom + 40 + LEGEND * spec.lines.length;
  const parts: string[] = [text(left, 24, title, paper.ink, 'font-size="15" font-weight="600"')];
  for (const value of valueTicks(spec, low, high)) {
    parts.push(rule(left, y(value), left + wide, y(value), paper.rule));
    parts.push(text(left - 6, y(value) + 4, spec.format(value), paper.muted, 'text-anchor="end"'));
  }
  const ticks = ticksOf(spec, from, to, wide / 90);
  const texts = tickTexts(spec, ticks);
  for (const [i, t] of ticks.entries()) {
    parts.push(rule(x(t), top, x(t), bottom, paper.rule));
    parts.push(text(x(t), bottom + 16, texts[i], paper.muted, 'text-anchor="middle"'));
  }
  const heights = spec.lines.map(({ drawn, values }) =>
    (drawn ?? values).map((v) => (v === null ? null : y(v))),
  );
  spec.lines.forEach((line, k) => {
    const path = pathOf(spec.x.map(x), heights[k], spec.stepped ?? false, line.dots ?? false);
    if (line.fill)
      parts.push(`<path d="${areaOf(path, y(0), left)}" fill="${line.fill}" stroke="none"/>`);
    const dash = line.dash.length ? ` stroke-dasharray="${line.dash.join(" ")}"` : "";
    const style = `stroke="${line.colour}" stroke-width="${line.bold ? 2.5 : 1.25}"${dash}`;
    parts.push(`<path d="${path}" fill="none" ${style}/>`);
    const row = bottom + 40 + LEGEND * k;
    parts.push(`<line x1="${left}" y1="${row - 4}" x2="${left + 24}" y2="${row - 4}" ${style}/>`);
    parts.push(text(left + 32, row, line.label, paper.ink));
  });
  return svgFile(WIDTH, total, title, spec.summary, paper, parts);
}

// Returns a file of these parts on paper; `about` is for readers who cannot see it.
export function svgFile(
  width: number,
  height: number,
  title: string,
  about: string,
  { paper }: Paper,
  parts: string[],
): string {
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
    `viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12">\n` +
    `<title>${escape(title)}</title>\n<desc>${escape(about)}</desc>\n` +
    `<rect width="${width}" height="${height}" fill="${paper}"/>\n${parts.join("\n")}\n</svg>\n`
  );
}

// Returns the ticks of the horizontal axis, at most about `most`, with their labels.
export function ticksOf(spec: ChartSpec, from: number, to: number, most: number): number[] {
  if (spec.points) return spec.x.filter((x) => x % Math.ceil(spec.x.length / most) === 0);
  if (spec.logX) return LOG_TICKS_S.filter((t) => from <= t && t <= to);
  return momentTicks(from, to, most);
}

export function tickTexts(spec: ChartSpec, ticks: number[]): string[] {
  if (spec.points) return ticks.map((x) => spec.points![x] ?? "");
  return spec.logX ? ticks.map(tick) : momentTickTexts(ticks);
}

// Returns the range of the vertical axis.
export function rangeOf(spec: ChartSpec): [number, number] {
  let [low, high] = [0, 1e-9];
  for (const { drawn, values } of spec.lines) {
    for (const value of drawn ?? values) {
      if (value === null) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  return [low * 1.05, spec.yMax ?? high * 1.05];
}

// Ticks of the vertical axis: round durations, else multiples of 1, 2 or 5 times a power of ten.
export function valueTicks(spec: ChartSpec, low: number, high: number): number[] {
  if (spec.durations) return timeTicks(low, high, TICKS);
  const rough = (high - low) / TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) ?? rough;
  const ticks: number[] = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) ticks.push(k * step);
  return ticks;
}

function pathOf(
  xs: number[],
  ys: (number | null)[],
  stepped: boolean,
  acrossGaps: boolean,
): string {
  let path = "";
  let drawing = false;
  ys.forEach((y, i) => {
    if (y === null) {
      drawing &&= acrossGaps;
      return;
    }
    const point = `${xs[i].toFixed(1)} ${y.toFixed(1)}`;
    if (!drawing) path += `M${point}`;
    else path += stepped ? `H${xs[i].toFixed(1)}V${y.toFixed(1)}` : `L${point}`;
    drawing = true;
  });
  return path;
}

function areaOf(path: string, floor: number, left: number): string {
  if (path === "") return "";
  const first = /^M(\S+)/.exec(path)?.[1] ?? String(left);
  return `${path}V${floor.toFixed(1)}H${first}Z`;
}

export function rule(x1: number, y1: number, x2: number, y2: number, colour: string): string {
  const [a, b, c, d] = [x1, y1, x2, y2].map((v) => v.toFixed(1));
  return `<line x1="${a}" y1="${b}" x2="${c}" y2="${d}" stroke="${colour}"/>`;
}

export function text(x: number, y: number, words: string, colour: string, more = ""): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" fill="${colour}" ${more}>${escape(words)}</text>`;
}

// Returns a rectangle as a part of a path.
export function area(x: number, y: number, width: number, height: number): string {
  return `M${x.toFixed(1)} ${y.toFixed(1)}h${width.toFixed(2)}v${height.toFixed(2)}h${(-width).toFixed(2)}z`;
}

// Escapes text for XML; characters that XML forbids, such as control characters, are left out.
export function escape(words: string): string {
  return words
    .replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
