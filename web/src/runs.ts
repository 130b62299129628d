// Shows runs in legends, in a choice, and in charts.
import type { App } from "./app";
import { lineSwatch, type Line } from "./charts";
import { bdi, button, el } from "./dom";
import { lineColour, lineDash } from "./palette";

function swatch(run: number, bold = false): HTMLElement {
  return lineSwatch({ colour: lineColour(run), dash: lineDash(run), bold });
}

// One button per run that shows or hides it, in the style of its lines.
export function runChips(app: App): HTMLElement {
  const list = el("div", { class: "chips", role: "group", "aria-label": "Compared runs" });
  const { runs } = app.data;
  if (runs.length < 2) return list;
  const chips = runs.map((run, i) =>
    el(
      "button",
      { type: "button", class: "chip", onclick: () => toggle(app, i) },
      swatch(i),
      bdi(run.label),
    ),
  );
  const all = () => app.store.set({ shown: runs.map(() => true) });
  const one = () => app.store.set({ shown: runs.map((_, i) => i === app.store.get("focus")) });
  list.append(
    ...chips,
    button("All", all, { class: "quiet" }),
    button("Only focus", one, { class: "quiet" }),
  );
  app.store.watch(["shown", "focus", "theme"], () => {
    chips.forEach((chip, i) => {
      const focus = app.store.get("focus") === i;
      chip.setAttribute("aria-pressed", String(app.store.get("shown")[i]));
      chip.classList.toggle("focus", focus);
      chip.firstElementChild!.replaceWith(swatch(i, focus));
    });
  });
  return list;
}

// At least one run stays visible.
function toggle(app: App, run: number): void {
  const shown = app.store.get("shown").map((on, i) => (i === run ? !on : on));
  if (shown.some(Boolean)) app.store.set({ shown });
}

// Returns a line for each visible run. The focused one is bold and last, so that it is on top.
export function runLines(app: App, values: (run: number) => (number | null)[]): Line[] {
  const focus = app.store.get("focus");
  const order = app.shown.filter((i) => i !== focus);
  if (app.store.get("shown")[focus]) order.push(focus);
  return order.map((i) => ({
    label: app.data.runs[i].label,
    colour: lineColour(i),
    dash: lineDash(i),
    bold: i === focus,
    values: values(i),
  }));
}
