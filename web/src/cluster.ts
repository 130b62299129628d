// The position of each GPU. Map and timeline show nodes by rack, and within a rack by GPU type, which may
// differ from their input order; a "place" is a GPU's rank in that order. GPUs of one node stay neighbours.
import type { Cluster } from "./schema";

export interface Layout {
  gpus: number;
  nodeOfGpu: Int32Array;
  firstGpu: Int32Array; // first GPU of each node
  placeOfGpu: Int32Array;
  gpuAtPlace: Int32Array;
  order: number[]; // nodes in the order of display
}

export function layoutOf({ nodes }: Cluster): Layout {
  const n = nodes.gpus.length;
  const firstGpu = new Int32Array(n);
  let gpus = 0;
  for (let node = 0; node < n; node++) {
    firstGpu[node] = gpus;
    gpus += nodes.gpus[node];
  }
  const order = Array.from({ length: n }, (_, i) => i);
  order.sort((a, b) => nodes.rack[a] - nodes.rack[b] || nodes.type[a] - nodes.type[b] || a - b);
  const nodeOfGpu = new Int32Array(gpus);
  const placeOfGpu = new Int32Array(gpus);
  const gpuAtPlace = new Int32Array(gpus);
  let place = 0;
  for (const node of order) {
    for (let i = 0; i < nodes.gpus[node]; i++, place++) {
      const gpu = firstGpu[node] + i;
      nodeOfGpu[gpu] = node;
      placeOfGpu[gpu] = place;
      gpuAtPlace[place] = gpu;
    }
  }
  return { gpus, nodeOfGpu, firstGpu, placeOfGpu, gpuAtPlace, order };
}

// Returns the place of a node's first GPU.
export function placeOf({ placeOfGpu, firstGpu }: Layout, node: number): number {
  return placeOfGpu[firstGpu[node]];
}

// Returns "node v100-3, GPUs 0–3" for neighbouring GPUs of one node.
export function placeText(cluster: Cluster, layout: Layout, gpu: number, gpus: number): string {
  const node = layout.nodeOfGpu[gpu];
  const first = gpu - layout.firstGpu[node];
  const which = gpus === 1 ? `GPU ${first}` : `GPUs ${first}–${first + gpus - 1}`;
  return `${cluster.nodes.name[node]} ${which}`;
}

// Returns "12 V100, 24 P100" in the order of the types.
export function typesText({ gpu_types, nodes }: Cluster): string {
  const counts = gpu_types.map(() => 0);
  nodes.gpus.forEach((gpus, node) => (counts[nodes.type[node]] += gpus));
  return gpu_types.map((type, i) => `${counts[i].toLocaleString("en-US")} ${type}`).join(", ");
}
