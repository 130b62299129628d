// The distance between the GPUs of gangs, and its cost.
import type { App } from "./app";
import { bdi, el, scroller, section, table } from "./dom";
import { count, percent } from "./format";
import { tierColour, TIERS } from "./palette";
import type { Run } from "./schema";

const MEANINGS = [
  "one GPU, or two of one node",
  "other gangs on one host",
  "several hosts of one rack",
  "several racks",
];

export function placementsSection(app: App): HTMLElement {
  const place = el("div");
  app.store.watch(["shown", "theme"], () => {
    const runs = app.shown.map((i) => app.data.runs[i]);
    const of = (run: Run, tier: number) => run.summary.placements[TIERS[tier]] ?? 0;
    const all = (run: Run) => TIERS.reduce((sum, _, tier) => sum + of(run, tier), 0);
    place.replaceChildren(
      scroller(
        "Placements by tier",
        table<Run>(
          "Placements by the widest link of the gang",
          [
            { title: "Run", text: true, cell: (run) => bdi(run.label) },
            {
              title: "Shares",
              text: true,
              cell: (run) => stack(TIERS.map((_, tier) => of(run, tier) / (all(run) || 1))),
            },
            ...TIERS.map((title, tier) => ({
              title,
              cell: (run: Run) => cell(of(run, tier), all(run)),
            })),
            {
              title: "GPU time lost to communication",
              cell: (run) => percent(run.summary.comm_time_share),
            },
          ],
          runs,
        ),
      ),
    );
  });
  const legend = el("ul", { class: "legend", "aria-label": "Colours" });
  app.store.watch(["theme"], () =>
    legend.replaceChildren(...TIERS.map((text, tier) => tierEntry(text, tier))),
  );
  return section("placements", "Placements", legend, place);
}

export function tierEntry(text: string, tier: number): HTMLElement {
  const box = el("span", { class: "box", "aria-hidden": "true" });
  box.style.background = tierColour(tier);
  return el("li", { title: MEANINGS[tier] }, box, text);
}

function cell(some: number, all: number): Node {
  return el("span", {}, percent(all ? some / all : null), el("small", {}, count(some)));
}

// One bar with a part for each tier; the columns beside it have the same values as numbers.
function stack(shares: number[]): HTMLElement {
  const bar = el("div", { class: "stack", "aria-hidden": "true" });
  shares.forEach((share, tier) => {
    const part = el("span");
    part.style.width = `${100 * share}%`;
    part.style.background = tierColour(tier);
    bar.append(part);
  });
  return bar;
}
