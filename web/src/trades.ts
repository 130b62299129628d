// Trades of fast for slow GPUs: who sold what to whom, at what price, and who gained.
import type { App } from "./app";
import { Chart } from "./charts";
import { bdi, el, scroller, section, table } from "./dom";
import { count, number, percent, plural } from "./format";
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
  price: number; // sum over the prices
  prices: number;
}

export function tradesSection(app: App): HTMLElement {
  const chart = new Chart("Price: slow GPUs paid for a fast one");
  const text = el("p", { class: "finding" });
  const pairs = el("div");
  const gains = el("div");
  const detail = el("div", {}, chart.element, el("div", { class: "charts" }, pairs, gains));
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
      el("h3", {}, "Who sold to whom"),
      scroller("Trades", pairTable(app, found)),
      el("p", { class: "note" }, left > 0 ? `${plural(left, "smaller pairing")} left out.` : ""),
    );
    gains.replaceChildren(el("h3", {}, "Who gained"), scroller("Gains", gainTable(app, found)));
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

// A user gains where its share of the work done in contended time exceeds its share of what was due.
function gainTable(app: App, pairs: Pair[]): HTMLElement {
  const rowOf = new Map(app.data.users.map((user, row) => [user, row]));
  const { users } = app.run.summary;
  const due = users.reduce((sum, user) => sum + user.entitled_gpu_hours, 0) || 1;
  const traders = new Set(pairs.flatMap((p) => [p.seller, p.buyer]));
  const rows = users
    .filter(({ user }) => traders.has(rowOf.get(user) ?? -1))
    .map((u) => ({
      ...u,
      due: u.entitled_gpu_hours / due,
      gain: u.throughput_share - u.entitled_gpu_hours / due,
    }))
    .sort((a, b) => b.gain - a.gain);
  const most = Math.max(1e-9, ...rows.map((row) => Math.abs(row.gain)));
  type Row = (typeof rows)[number];
  const role = (row: Row) => {
    const user = rowOf.get(row.user);
    const sells = pairs.some((p) => p.seller === user);
    const buys = pairs.some((p) => p.buyer === user);
    return sells && buys ? "both" : sells ? "seller" : "buyer";
  };
  return table<Row>(
    "Share of the work done against share entitled to, of users who traded",
    [
      { title: "User", text: true, cell: (row) => bdi(row.user) },
      { title: "Role", text: true, cell: role },
      { title: "of contended work", cell: (row) => percent(row.throughput_share) },
      { title: "of all entitled", cell: (row) => percent(row.due) },
      {
        title: "Difference",
        cell: (row) => `${row.gain < 0 ? "−" : "+"}${(100 * Math.abs(row.gain)).toFixed(1)} points`,
      },
      { title: "", text: true, cell: (row) => gainBar(row.gain / most) },
    ],
    rows,
  );
}

// From the middle to the right for a gain, to the left for a loss.
function gainBar(part: number): HTMLElement {
  const bar = el("div", { class: "gain", "aria-hidden": "true" });
  const fill = el("span");
  fill.style.width = `${50 * Math.abs(part)}%`;
  fill.style.left = `${part < 0 ? 50 + 50 * part : 50}%`;
  fill.style.background = lineColour(part < 0 ? 1 : 0);
  bar.append(fill);
  return bar;
}
