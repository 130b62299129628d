// The rows of the timeline: single GPUs if there is room, else nodes, else groups of neighbouring
// nodes of a rack, doubled until they fit.
import type { Layout } from "./cluster";
import type { View } from "./raster";
import type { Cluster } from "./schema";

const ROW_PX = 2; // the least visible height of a row

export interface Bands {
  unit: string; // the content of a row, in words for the reader
  single: boolean; // one GPU per row
  rows: number;
  edge: number[]; // row r has places [edge[r], edge[r + 1])
  rowOf: Int32Array; // row of each place; undefined outside of the edges
  weight: Float32Array;
}

// Returns the first places of units of `size` nodes, and the end. Units never cross racks. They cross
// GPU types only if they are whole racks (`size` Infinity).
export function unitEdges(cluster: Cluster, layout: Layout, size: number): number[] {
  const edges: number[] = [];
  let place = 0;
  let inUnit = 0;
  const finite = size !== Infinity;
  layout.order.forEach((node, k) => {
    const before = layout.order[k - 1];
    const { rack, type } = cluster.nodes;
    const other = k > 0 && (rack[node] !== rack[before] || (finite && type[node] !== type[before]));
    if (k === 0 || other || inUnit === size) {
      edges.push(place);
      inUnit = 0;
    }
    inUnit++;
    place += cluster.nodes.gpus[node];
  });
  edges.push(place);
  return edges;
}

export function bandsOf(cluster: Cluster, layout: Layout, view: View, height: number): Bands {
  const most = Math.max(1, Math.floor(height / ROW_PX));
  const all = Array.from({ length: layout.gpus + 1 }, (_, i) => i);
  let edge = seen(all, view);
  if (edge.length - 1 <= most) return make("GPU", true, edge, layout.gpus);
  for (let size = 1; ; size *= 2) {
    edge = seen(unitEdges(cluster, layout, size), view);
    const rack = size >= layout.order.length;
    if (edge.length - 1 > most && !rack) continue;
    const unit = size === 1 ? "node" : rack ? "rack" : `group of up to ${size} nodes`;
    return make(unit, false, edge, layout.gpus);
  }
}

// Returns the edges of the units that are at least partly in the view.
function seen(edges: number[], { p0, p1 }: View): number[] {
  let first = 0;
  while (first + 2 < edges.length && edges[first + 1] <= p0) first++;
  let last = edges.length - 1;
  while (last - 1 > first && edges[last - 1] >= p1) last--;
  return edges.slice(first, last + 1);
}

function make(unit: string, single: boolean, edge: number[], places: number): Bands {
  const rowOf = new Int32Array(places);
  const weight = new Float32Array(places);
  for (let row = 0; row + 1 < edge.length; row++) {
    rowOf.fill(row, edge[row], edge[row + 1]);
    weight.fill(1 / (edge[row + 1] - edge[row]), edge[row], edge[row + 1]);
  }
  return { unit, single, rows: edge.length - 1, edge, rowOf, weight };
}
