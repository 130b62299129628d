// Trades of fast for slow GPUs: seller, buyer, GPUs and price, and the gains.
import type { App } from "./app";
import { Chart } from "./charts";
import { bdi, el, scroller, section, table } from "./dom";
import { count, number, plural } from "./format";
import { gains } from "./gains";
import { lineColour } from "./palette";
import { NOTE_KINDS, type Run } from "./schema";

const TRADE = NOTE_KINDS.indexOf("trade");
const PRICE = NOTE_KINDS.indexOf("price");
const BINS = 240;
const MOST_PAIRS = 15;

interface Pair {
  seller: number;
  buyer: number;
  type: number;
  trades: number;
  gpus: number; // sum over the trades
  price: number; // sum of the prices
  prices: number;
}

export function hasTrades({ notes }: Run): boolean {
  return notes.kind.includes(TRADE as Run["notes"]["kind"][number]);
}

export function tradesSection(app: App): HTMLElement {
  const chart = new Chart("Price: slow GPUs paid for a fast one");
  const text = el("p", { class: "finding" });
  const pairs = el("div");
  const gained = el("div");
  const detail = el("div", {}, chart.element, gained, pairs);
  app.store.watch(["focus", "theme"], () => {
    const found = pairsOf(app.run);
    detail.hidden = found.length === 0;
    const trades = found.reduce((sum, pair) => sum + pair.trades, 0);
    text.textContent = trades
      ? `Under ${app.run.label} users traded ${plural(trades, "time")}, in ${plural(found.length, "pairing")} of seller, buyer and GPU type.`
      : `Under ${app.run.label} no user traded GPUs with another.`;
    if (trades === 0) return;
    drawPrices(app, chart);
    const left = found.length - MOST_PAIRS;
    pairs.replaceChildren(
      el("h3", {}, "Sellers and buyers"),
      scroller("Trades", pairTable(app, found)),
      el("p", { class: "note" }, left > 0 ? `${plural(left, "smaller pairing")} not shown.` : ""),
    );
    const traders = new Set(found.flatMap((p) => [app.user(p.seller), app.user(p.buyer)]));
    gained.replaceChildren(...gains(app, traders));
  });
  return section("trades", "Trades", text, detail);
}

// By GPUs sold over all trades, largest first. A price note belongs to the trade note before it.
function pairsOf({ notes }: Run): Pair[] {
  const pairs = new Map<string, Pair>();
  let last: Pair | null = null;
  notes.kind.forEach((kind, i) => {
    if (kind === TRADE) {
      const [seller, buyer, type] = [notes.user[i], notes.other_user[i], notes.gpu_type[i]];
      const key = `${seller} ${buyer} ${type}`;
      last = pairs.get(key) ?? { seller, buyer, type, trades: 0, gpus: 0, price: 0, prices: 0 };
      pairs.set(key, last);
      last.trades++;
      last.gpus += notes.value[i];
    } else if (kind === PRICE && last) {
      last.price += notes.value[i];
      last.prices++;
    }
  });
  return [...pairs.values()].sort((a, b) => b.gpus - a.gpus);
}

function drawPrices(app: App, chart: Chart): void {
  const { notes } = app.run;
  const types = app.data.cluster.gpu_types;
  const rows = notes.kind.map((_, i) => i).filter((i) => notes.kind[i] === PRICE);
  const first = rows.length ? notes.t_s[rows[0]] : 0;
  const width = Math.max(1, (rows.length ? notes.t_s[rows[rows.length - 1]] - first : 0) / BINS);
  const sums = types.map(() => new Float64Array(BINS + 1));
  const counts = types.map(() => new Float64Array(BINS + 1));
  for (const i of rows) {
    const bin = Math.min(BINS, Math.floor((notes.t_s[i] - first) / width));
    sums[notes.gpu_type[i]][bin] += notes.value[i];
    counts[notes.gpu_type[i]][bin]++;
  }
  const priced = types.map((_, t) => t).filter((t) => counts[t].some((n) => n > 0));
  const mean = (t: number, k: number) => (counts[t][k] ? sums[t][k] / counts[t][k] : null);
  const said = priced.map((t) => {
    const values = rows.filter((i) => notes.gpu_type[i] === t).map((i) => notes.value[i]);
    const [low, high] = values.reduce(
      ([a, b], v) => [Math.min(a, v), Math.max(b, v)],
      [Infinity, 0],
    );
    return `${types[t]} from ${number(low)} to ${number(high)}`;
  });
  chart.show({
    x: Array.from({ length: BINS + 1 }, (_, k) => first + k * width),
    lines: priced.map((t, k) => ({
      label: types[t],
      colour: lineColour(k),
      dash: [],
      bold: true,
      dots: true,
      values: Array.from({ length: BINS + 1 }, (_, bin) => mean(t, bin)),
    })),
    legend: true,
    format: number,
    summary: said.length ? `${said.join("; ")}.` : "No prices were noted.",
  });
}

function pairTable(app: App, pairs: Pair[]): HTMLElement {
  return table<Pair>(
    "Trades by seller, buyer and GPU type",
    [
      { title: "Seller", text: true, cell: (p) => bdi(app.user(p.seller)) },
      { title: "Buyer", text: true, cell: (p) => bdi(app.user(p.buyer)) },
      { title: "GPU type", text: true, cell: (p) => app.data.cluster.gpu_types[p.type] ?? "–" },
      { title: "Trades", cell: (p) => count(p.trades) },
      { title: "GPUs per trade", cell: (p) => number(p.gpus / p.trades) },
      { title: "Mean price", cell: (p) => number(p.prices ? p.price / p.prices : null) },
    ],
    pairs.slice(0, MOST_PAIRS),
  );
}
