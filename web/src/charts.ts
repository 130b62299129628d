// Line charts: uPlot with the page's colours, and a box with the values under the pointer. Arrow keys are
// an alternative to the pointer, and a sentence is for readers who cannot see the lines.
import uPlot from "uplot";
import { onWidth } from "./canvas";
import { bdi, el } from "./dom";
import { csv, saveMenu, savePng, saveText, type Cell } from "./download";
import { duration, moment } from "./format";
import { readTheme } from "./palette";
import { chartSvg, rangeOf, ticksOf, tickTexts, valueTicks } from "./svg";

export interface Line {
  label: string;
  colour: string;
  dash: number[];
  bold: boolean;
  dots?: boolean; // marks at the values and lines across gaps
  values: (number | null)[];
  drawn?: (number | null)[]; // position of the line, if it differs from its values: in a stack, above the lines below
  fill?: string; // colour of the area down to 0
}

export interface ChartSpec {
  x: number[]; // seconds
  lines: Line[];
  points?: string[]; // names of the x, which are then 0, 1, 2, ... instead of times
  logX?: boolean;
  stepped?: boolean;
  legend?: boolean; // set if the lines are not named elsewhere on the page
  yMax?: number; // default: the largest value
  durations?: boolean; // the values are seconds: ticks at round ones
  format: (value: number | null) => string;
  summary: string;
}

const HEIGHT = 230;
const FONT = "11px system-ui, sans-serif";
const LETTER = 6; // approximate width of a letter of this font

// A figure with a title, a sentence, and the chart. Charts of one `group` share their cursor.
export class Chart {
  readonly element: HTMLElement;
  private readonly sentence = el("p", { class: "finding" });
  private readonly legend = el("ul", { class: "legend" });
  private readonly host: HTMLElement;
  private spec: ChartSpec | null = null;
  private plot: uPlot | null = null;
  private width = 0;

  constructor(
    title: string,
    private readonly group = "",
  ) {
    this.host = el("div", {
      class: "chart",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "line chart",
      "aria-label": `${title}. Arrow keys read the values.`,
      onkeydown: (event) => this.press(event as KeyboardEvent),
    });
    this.element = el(
      "figure",
      {},
      el(
        "figcaption",
        {},
        el("div", { class: "caption" }, el("h3", {}, title), this.saveMenu(title)),
        this.sentence,
        this.legend,
      ),
      this.host,
    );
    onWidth(this.host, (width) => {
      this.width = width;
      if (this.plot) this.plot.setSize({ width, height: HEIGHT });
      else this.draw();
    });
  }

  show(spec: ChartSpec): void {
    this.spec = spec;
    this.sentence.textContent = spec.summary;
    const lines = spec.legend ? spec.lines : [];
    this.legend.replaceChildren(
      ...lines.map((line) => el("li", {}, lineSwatch(line), bdi(line.label))),
    );
    this.legend.hidden = lines.length === 0;
    this.draw();
  }

  private saveMenu(title: string): HTMLElement {
    const svg = () => chartSvg(title, this.spec!, readTheme());
    return saveMenu(title, {
      SVG: () => this.spec && saveText(`${title}.svg`, "image/svg+xml", svg()),
      PNG: () => this.spec && void savePng(`${title}.png`, svg()),
      CSV: () => this.spec && saveText(`${title}.csv`, "text/csv", csv(rowsOf(this.spec))),
    });
  }

  private draw(): void {
    if (!this.spec || !this.width) return;
    this.plot?.destroy();
    const { spec } = this;
    const options = optionsOf(spec, this.width, this.group);
    this.plot = new uPlot(
      options,
      [spec.x, ...spec.lines.map((line) => line.drawn ?? line.values)],
      this.host,
    );
  }

  private press(event: KeyboardEvent): void {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
    if (step === undefined || !this.plot || !this.spec) return;
    event.preventDefault();
    const now = this.plot.cursor.idx ?? 0;
    const index = Math.min(this.spec.x.length - 1, Math.max(0, now + step));
    this.plot.setCursor({ left: this.plot.valToPos(this.spec.x[index], "x"), top: 10 });
  }
}

// Returns a small picture of a line in the chart's style, for a legend.
export function lineSwatch({
  colour,
  dash,
  bold,
  fill,
}: Pick<Line, "colour" | "dash" | "bold" | "fill">): HTMLElement {
  const canvas = el("canvas", { width: 48, height: 16, class: "swatch", "aria-hidden": "true" });
  const pen = canvas.getContext("2d")!;
  pen.strokeStyle = colour;
  pen.lineWidth = fill ? 16 : bold ? 6 : 4;
  pen.setLineDash(dash.map((d) => 2 * d));
  pen.beginPath();
  pen.moveTo(0, 8);
  pen.lineTo(48, 8);
  pen.stroke();
  return canvas;
}

// Returns the values of a chart as a table, one row for each point.
function rowsOf(spec: ChartSpec): Cell[][] {
  const what = spec.points ? "point" : spec.logX ? "up to, s" : "from, s";
  const head = [what, ...spec.lines.map((line) => line.label)];
  return [
    head,
    ...spec.x.map((x, i) => [
      spec.points?.[x] ?? x,
      ...spec.lines.map((line) => line.values[i] ?? null),
    ]),
  ];
}

function optionsOf(spec: ChartSpec, width: number, group: string): uPlot.Options {
  const theme = readTheme();
  const axis = {
    font: FONT,
    stroke: theme.muted,
    grid: { stroke: theme.rule, width: 1 },
    ticks: { stroke: theme.rule, width: 1, size: 4 },
  };
  const splits = (_: uPlot, __: number, min: number, max: number): number[] =>
    ticksOf(spec, min, max, Math.max(2, width / 75));
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: {
      y: false,
      points: { size: 6 },
      ...(group ? { sync: { key: group } } : {}),
    },
    scales: {
      x: { time: false, distr: spec.logX ? 3 : 1 },
      y: { range: () => rangeOf(spec) },
    },
    axes: [
      {
        ...axis,
        size: 30,
        space: 50,
        splits,
        filter: (_, values) => values,
        values: (_, values) => tickTexts(spec, values),
      },
      {
        ...axis,
        size: (_, labels) =>
          Math.max(52, ...(labels ?? []).map((text) => LETTER * text.length + 16)),
        splits: (_, __, min, max) => valueTicks(spec, min, max),
        values: (_, values) => values.map((v) => spec.format(v)),
      },
    ],
    series: [
      {},
      ...spec.lines.map((line) => ({
        label: line.label,
        stroke: line.colour,
        dash: line.dash,
        ...(line.fill ? { fill: line.fill } : {}),
        width: line.bold ? 2.5 : 1.25,
        points: { show: line.dots ?? false, size: 4 },
        spanGaps: line.dots ?? false,
        ...(spec.stepped ? { paths: uPlot.paths.stepped!({ align: 1 }) } : {}),
      })),
    ],
    plugins: [valueBox(spec)],
  };
}

function pointText(spec: ChartSpec, x: number): string {
  if (spec.points) return spec.points[x];
  return spec.logX ? duration(x) : moment(x);
}

// The values under the cursor, largest first. Screen readers read it out when keys move the cursor.
function valueBox(spec: ChartSpec): uPlot.Plugin {
  const box = el("div", { class: "tip", role: "status", hidden: true });
  return {
    hooks: {
      init: (plot) => {
        plot.over.append(box);
        plot.over.addEventListener("mouseleave", () => (box.hidden = true));
      },
      setCursor: (plot) => {
        const { idx, left = -1 } = plot.cursor;
        // Charts that only follow another's cursor show the line without the box.
        const own =
          plot.over.matches(":hover") || plot.root.parentElement === document.activeElement;
        box.hidden = idx === null || idx === undefined || left < 0 || !own;
        if (box.hidden || idx === null || idx === undefined) return;
        const rows = spec.lines
          .map((line) => ({ line, value: line.values[idx] ?? null }))
          .filter(({ value }) => value !== null)
          .sort((a, b) => b.value! - a.value!);
        box.replaceChildren(el("b", {}, pointText(spec, spec.x[idx])), ...rows.map(valueRow(spec)));
        const room = plot.over.clientWidth;
        if (left > room / 2) box.style.left = `${Math.max(0, left - box.offsetWidth - 10)}px`;
        else box.style.left = `${Math.min(left + 10, room - box.offsetWidth)}px`;
        box.style.top = "4px";
      },
    },
  };
}

function valueRow(spec: ChartSpec) {
  return ({ line, value }: { line: Line; value: number | null }): HTMLElement => {
    const mark = el("span", { class: "box", "aria-hidden": "true" });
    mark.style.background = line.colour;
    return el("div", {}, mark, `${spec.format(value)}  `, bdi(line.label));
  };
}
