// All users over time: GPUs in use, stacked; entitled GPUs, stacked; the debt of each user.
import type { App } from "./app";
import { Chart, type Line } from "./charts";
import { lags } from "./findings";
import { moment, number } from "./format";
import { lineColour, readTheme } from "./palette";

const OWN = 6; // users with a colour of their own
const ROUNDING = 1e-3; // fraction of all: rounding may leave this much without another user

export function sharesCharts(app: App): HTMLElement[] {
  const used = new Chart("GPUs in use, users stacked", "shares");
  const entitled = new Chart("Entitled GPUs, users stacked", "shares");
  const behind = new Chart("GPU-hours behind the entitlement, by user", "shares");
  app.store.watch(["focus", "user", "theme"], () => {
    const { shares, load } = app.run;
    const x = load.gpus_held.map((_, i) => i * load.bin_s);
    const bins = x.length;
    const sums = (rows: number[][]) =>
      Array.from({ length: bins }, (_, i) => rows.reduce((sum, row) => sum + (row[i] ?? 0), 0));
    const entitledAll = sums(shares.entitled);
    const peak = [...load.gpus_held, ...entitledAll].reduce((a, b) => Math.max(a, b), 1e-9);
    const stack = (chart: Chart, rows: number[][], all: number[], summary: string) =>
      chart.show({
        x,
        lines: stacked(app, rows, all),
        stepped: true,
        legend: true,
        yMax: peak * 1.02,
        format: number,
        summary,
      });
    const top = shares.user.slice(0, OWN).reduce((sum, _, k) => sum + total(shares.held[k]), 0);
    const all = total(load.gpus_held) || 1;
    stack(
      used,
      shares.held,
      load.gpus_held,
      shares.user.length > OWN
        ? `${app.run.label}: the ${OWN} users with most GPU time had ${Math.round((100 * top) / all)} % of it.`
        : `${app.run.label}: the heights add up to all GPUs in use.`,
    );
    stack(
      entitled,
      shares.entitled,
      entitledAll,
      "By tickets, and at most the demand of the user's jobs: a fair division of the GPUs.",
    );
    showLags(app, behind, x);
  });
  return [used.element, entitled.element, behind.element];
}

// The users with a colour of their own, and one line for the rest, from the top of the stack down. Each
// area reaches to the ground and covers the areas behind it.
function stacked(app: App, rows: number[][], all: number[]): Line[] {
  const { shares } = app.run;
  const own = rows.slice(0, OWN);
  const rest = all.map((sum, i) =>
    Math.max(
      0,
      own.reduce((left, row) => left - row[i], sum),
    ),
  );
  const layers = own.map((values, k) => ({
    label: app.user(shares.user[k]),
    colour: lineColour(k),
    values,
  }));
  if (total(rest) > ROUNDING * total(all)) {
    layers.push({ label: "all others", colour: readTheme().rule, values: rest });
  }
  const below = new Array<number>(all.length).fill(0);
  const lines = layers.map(({ label, colour, values }): Line => {
    values.forEach((value, i) => (below[i] += value));
    return { label, colour, dash: [], bold: false, values, drawn: [...below], fill: colour };
  });
  return lines.reverse();
}

function showLags(app: App, chart: Chart, x: number[]): void {
  const { shares } = app.run;
  const all = lags(app.run);
  const order = all.map((_, k) => k);
  const most = (k: number) => all[k].reduce((a, b) => Math.max(a, Math.abs(b)), 0);
  // The colours of the stack, and the chosen user at any rank.
  const chosen = order.filter((k) => k < OWN || shares.user[k] === app.store.get("user"));
  const worst = order.reduce((a, b) => (most(b) > most(a) ? b : a), 0);
  if (order.length > 0 && !chosen.includes(worst)) chosen.push(worst);
  chart.show({
    x,
    lines: chosen.map((k) => ({
      label: app.user(shares.user[k]),
      colour: k < OWN ? lineColour(k) : readTheme().ink,
      dash: k < OWN ? [] : k === worst ? [6, 3] : [2, 3],
      bold: shares.user[k] === app.store.get("user"),
      values: all[k],
    })),
    legend: true,
    format: number,
    summary: lagText(app, all, worst),
  });
}

function lagText(app: App, all: number[][], worst: number): string {
  if (all.length === 0) return "This run has no users with tickets.";
  const size = all[worst].reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a), 0);
  const at = moment((all[worst].indexOf(size) + 1) * app.run.load.bin_s);
  const way = size < 0 ? "ahead of" : "behind";
  return (
    `${app.user(app.run.shares.user[worst])} was furthest off, ${number(Math.abs(size))} GPU-hours ${way} its ` +
    `entitlement at ${at}. Above 0 a user is behind, below it is ahead.`
  );
}

const total = (values: number[]) => values.reduce((a, b) => a + b, 0);
