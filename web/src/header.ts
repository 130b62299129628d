// The head of the report, and the bar that is always visible: the focused run, the sections, the
// theme.
import type { App } from "./app";
import { typesText } from "./cluster";
import { bdi, button, choice, el } from "./dom";
import { duration, moment, plural } from "./format";
import { calendarStart } from "./data";
import type { ReportData, Run } from "./schema";

export function header(app: App): HTMLElement {
  const { data, layout } = app;
  const { cluster } = data;
  const span = Math.max(...data.runs.map((run) => run.summary.makespan_s ?? 0));
  return el(
    "header",
    { class: "head" },
    el("h1", {}, bdi(data.title)),
    el(
      "p",
      {},
      `${plural(data.jobs.id.length, "job")} of ${plural(data.users.length, "user")} on `,
      bdi(cluster.name),
      `: ${plural(layout.gpus, "GPU")} (`,
      bdi(typesText(cluster)),
      `) in ${plural(cluster.nodes.name.length, "node")} and ${plural(cluster.racks, "rack")}. `,
      `${plural(data.runs.length, "run")}, the longest over ${duration(span)}. ${clockText(data)}`,
    ),
    ...racks(app),
    ...settings(app),
  );
}

function clockText(data: ReportData): string {
  if (calendarStart(data) === null) return "Times count from the first submission.";
  return `The first submission is at ${moment(0)}; dates are in UTC.`;
}

// The bandwidths of the racks' links, if the cluster file gives them; equal ones once.
function racks(app: App): HTMLElement[] {
  const names = new Map<string, string[]>();
  for (const { name, about } of app.data.runs[0].summary.racks ?? []) {
    names.set(about, [...(names.get(about) ?? []), name]);
  }
  return [...names].map(([about, alike]) => {
    const which = alike.length > 3 ? `${alike[0]} to ${alike[alike.length - 1]}` : alike.join(", ");
    return el("p", {}, bdi(which), `: ${about}.`);
  });
}

// The settings of `--set`, once if they are equal for all runs.
function settings(app: App): HTMLElement[] {
  const texts = app.data.runs.map((run) =>
    Object.entries(run.summary.settings ?? {})
      .map(([key, value]) => `${key}=${value}`)
      .join(", "),
  );
  if (texts.every((text) => text === "")) return [];
  if (new Set(texts).size === 1) return [el("p", {}, "Settings: ", bdi(texts[0]))];
  return app.data.runs.map((run, i) =>
    el("p", {}, "Settings of ", bdi(run.label), ": ", bdi(texts[i] || "none")),
  );
}

export function controlBar(app: App, sections: [string, string][]): HTMLElement {
  const labels = app.data.runs.map((run) => run.label);
  const focus = choice("Run", labels, app.store.get("focus"), (i) => app.store.set({ focus: i }));
  app.store.watch(["focus"], () => (focus.select.selectedIndex = app.store.get("focus")));
  const theme = button("", () =>
    app.store.set({ theme: app.store.get("theme") === "dark" ? "light" : "dark" }),
  );
  app.store.watch(["theme"], () => {
    theme.textContent = app.store.get("theme") === "dark" ? "Light" : "Dark";
    theme.setAttribute("aria-label", `Switch to the ${theme.textContent.toLowerCase()} theme`);
  });
  const links = sections.map(([id, text]) => el("a", { href: `#${id}` }, text));
  return el(
    "div",
    { class: "top" },
    focus.element,
    el("nav", { "aria-label": "Sections" }, ...links),
    theme,
  );
}

export function footer(app: App): HTMLElement {
  const { program, runs } = app.data;
  const known = runs.filter(
    (run) => run.inputs_hash ?? run.command ?? (run.program !== program ? run.program : undefined),
  );
  return el(
    "footer",
    {},
    el("p", {}, madeBy(app.data)),
    el("p", {}, "This file is complete in itself and loads nothing."),
    ...(known.length > 0 ? [origins(app.data, known)] : []),
  );
}

// The program of the page and, if it is the same, of all runs.
function madeBy({ program, runs }: ReportData): string {
  const made = runs.every((run) => run.program === program) ? "Page and runs were" : "The page was";
  return `${made} made by ${program}.`;
}

// The command of each run, its program if another one made the page, and the hash of the program and the files that
// it read.
function origins({ program }: ReportData, runs: Run[]): HTMLElement {
  return el(
    "details",
    {},
    el("summary", {}, "Commands and hashes of the inputs"),
    ...runs.map((run) =>
      el(
        "p",
        {},
        bdi(run.label),
        run.program && run.program !== program ? `, made by ${run.program}` : "",
        run.inputs_hash ? `, inputs ${run.inputs_hash}` : "",
        run.command ? ": " : "",
        run.command ? el("code", {}, run.command) : null,
      ),
    ),
  );
}
