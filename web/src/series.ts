// Computes the values of the charts.

// Returns `n` points from `min` to `max`, equidistant in their logarithms. REQUIRES: 0 < min < max.
export function logGrid(min: number, max: number, n: number): number[] {
  const ratio = Math.log(max / min) / (n - 1);
  const grid = Array.from({ length: n }, (_, i) => min * Math.exp(i * ratio));
  grid[n - 1] = max;
  return grid;
}

// Returns the fraction of `sorted` that does not exceed each x of the ascending grid. O(both).
export function cdf(sorted: Float64Array, grid: number[]): number[] {
  let i = 0;
  return grid.map((x) => {
    while (i < sorted.length && sorted[i] <= x) i++;
    return i / sorted.length;
  });
}

// Returns the least value that at least the fraction `q` does not exceed; null for an empty list.
export function quantile(sorted: Float64Array, q: number): number | null {
  if (sorted.length === 0) return null;
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1))];
}

// Returns means over `n` bins of width `out` of values that are means over bins of width `bin`; null if
// there are no values. A partly filled bin is the mean over the filled part.
export function resample(values: number[], bin: number, out: number, n: number): (number | null)[] {
  const result: (number | null)[] = [];
  for (let k = 0; k < n; k++) {
    const from = k * out;
    const to = Math.min((k + 1) * out, values.length * bin);
    if (from >= to) {
      result.push(null);
      continue;
    }
    let sum = 0;
    for (let i = Math.floor(from / bin); i < values.length && i * bin < to; i++) {
      sum += values[i] * (Math.min(to, (i + 1) * bin) - Math.max(from, i * bin));
    }
    result.push(sum / (to - from));
  }
  return result;
}
