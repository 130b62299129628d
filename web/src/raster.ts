// The timeline as a picture of cells, one column per pixel and one row per band of GPUs. Each run of a
// job adds to each cell the fraction of the cell that it covers. So the picture is right at every zoom: bars
// if there is room, the share of busy GPUs if there is none.
//
// A picture costs O(runs + cells): every moment of a GPU belongs to at most one run.
import type { JobRuns } from "./job_runs";

// The visible part of the timeline: time and places (cluster.ts), both half-open.
export interface View {
  t0: number;
  t1: number;
  p0: number;
  p1: number;
}

export interface Raster {
  columns: number;
  rows: number;
  cover: Float32Array; // busy share of each cell, row after row
  red: Float32Array; // sums of share x colour
  green: Float32Array;
  blue: Float32Array;
}

// `rowOf` is the row of each place and `weight` the fraction of its row that one GPU makes up; a row's
// weights add up to 1. Jobs are coloured by `colours[classOf[job]]`.
export function rasterize(
  jobRuns: JobRuns,
  placeOfGpu: Int32Array,
  view: View,
  columns: number,
  bands: { rows: number; rowOf: Int32Array; weight: Float32Array },
  classOf: Uint8Array,
  colours: [number, number, number][],
): Raster {
  const cells = columns * bands.rows;
  const cover = new Float32Array(cells);
  const red = new Float32Array(cells);
  const green = new Float32Array(cells);
  const blue = new Float32Array(cells);
  const scale = columns / (view.t1 - view.t0);
  const low = Math.max(0, Math.floor(view.p0));
  const high = Math.min(bands.rowOf.length, Math.ceil(view.p1));
  for (let i = 0; i < jobRuns.count; i++) {
    if (jobRuns.end[i] <= view.t0 || view.t1 <= jobRuns.begin[i]) continue;
    const place = placeOfGpu[jobRuns.gpu[i]];
    const from = Math.max(low, place);
    const to = Math.min(high, place + jobRuns.gpus[i]);
    if (from >= to) continue;
    const x0 = Math.max(0, (jobRuns.begin[i] - view.t0) * scale);
    const x1 = Math.min(columns, (jobRuns.end[i] - view.t0) * scale);
    const [r, g, b] = colours[classOf[jobRuns.job[i]]];
    for (let p = from; p < to;) {
      const row = bands.rowOf[p];
      let weight = 0;
      for (; p < to && bands.rowOf[p] === row; p++) weight += bands.weight[p];
      const lastColumn = Math.min(columns - 1, Math.floor(x1));
      for (let c = Math.floor(x0); c <= lastColumn; c++) {
        const part = weight * (Math.min(x1, c + 1) - Math.max(x0, c));
        const cell = row * columns + c;
        cover[cell] += part;
        red[cell] += part * r;
        green[cell] += part * g;
        blue[cell] += part * b;
      }
    }
  }
  return { columns, rows: bands.rows, cover, red, green, blue };
}

// The picture over paper of the given colour; `single` paints all busy cells in one colour.
export function toPixels(
  raster: Raster,
  paper: [number, number, number],
  single: [number, number, number] | null,
): Uint8ClampedArray<ArrayBuffer> {
  const pixels = new Uint8ClampedArray(raster.cover.length * 4);
  for (let i = 0; i < raster.cover.length; i++) {
    const c = raster.cover[i];
    const rest = Math.max(0, 1 - c);
    pixels[4 * i] = (single ? single[0] * c : raster.red[i]) + paper[0] * rest;
    pixels[4 * i + 1] = (single ? single[1] * c : raster.green[i]) + paper[1] * rest;
    pixels[4 * i + 2] = (single ? single[2] * c : raster.blue[i]) + paper[2] * rest;
    pixels[4 * i + 3] = 255;
  }
  return pixels;
}
