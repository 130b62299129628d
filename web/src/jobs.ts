// The table of jobs: filtered, sorted, and of any length.
import type { App } from "./app";
import { bdi, button, choice, el, section } from "./dom";
import { csv, saveText } from "./download";
import { count, duration, moment } from "./format";
import { sizeClass, sizeLabel } from "./palette";
import type { JobFilter } from "./state";
import { secondsLost } from "./network";
import { typesName } from "./types";
import { VirtualRows } from "./virtual_rows";

export const STATUS = ["finished", "failed", "rejected", "pending"];
const SIZES = 6;

interface JobColumn {
  title: string;
  look?: string; // classes: "text", "wide", "narrow"
  csv?: string; // title in CSV files, with the unit if it has one
  value: (job: number) => number | string | null;
  cell: (job: number) => Node | string;
}

export function jobsSection(app: App): HTMLElement {
  const columns = columnsOf(app);
  const heads = columns.map((column) => headCell(column, () => sortBy(app, column.title)));
  const found = el("p", { class: "figure", role: "status" });
  const rows = new VirtualRows(
    "Jobs",
    el("tr", {}, ...heads),
    (job) => columns.map((column) => column.cell(job)),
    (job) => app.openJob(job),
  );
  const matches = textMatcher(app);
  let shown = new Int32Array(0);
  app.store.watch(["focus", "jobs"], () => {
    const { sort, down } = app.store.get("jobs");
    shown = filtered(app, matches);
    const by = columns.findIndex((column) => column.title === sort);
    if (by >= 0) sortJobs(shown, columns[by], down);
    heads.forEach((head, i) => {
      const way = down ? "descending" : "ascending";
      head.setAttribute("aria-sort", i === by ? way : "none");
    });
    found.textContent = `${count(shown.length)} of ${count(app.data.jobs.id.length)} jobs`;
    rows.show(shown);
  });
  const save = button("Save as CSV", () => {
    const cells = [...shown].map((job) => columns.map((column) => column.value(job)));
    saveText(
      `jobs ${app.run.label}.csv`,
      "text/csv",
      csv([columns.map((c) => c.csv ?? c.title), ...cells]),
    );
  });
  return section("jobs", "Jobs", filterBar(app, found, save), rows.box);
}

function filterBy(app: App, change: Partial<JobFilter>): void {
  app.store.set({ jobs: { ...app.store.get("jobs"), ...change } });
}

function sortBy(app: App, sort: string): void {
  const now = app.store.get("jobs");
  filterBy(app, { sort, down: now.sort === sort && !now.down });
}

function headCell({ title, look }: JobColumn, onclick: () => void): HTMLElement {
  return el(
    "th",
    { scope: "col", class: look ?? "", "aria-sort": "none" },
    el("button", { type: "button", onclick }, title),
  );
}

function filterBar(app: App, found: HTMLElement, save: HTMLElement): HTMLElement {
  const search = el("input", {
    type: "search",
    id: "job-filter",
    placeholder: "job, user or model",
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => filterBy(app, { text: search.value }),
  });
  const pick = (label: string, key: "status" | "size" | "type", options: string[]) => {
    const made = choice(label, ["any", ...options], 0, (i) => filterBy(app, { [key]: i - 1 }));
    app.store.watch(["jobs"], () => (made.select.selectedIndex = app.store.get("jobs")[key] + 1));
    return made.element;
  };
  app.store.watch(["jobs"], () => {
    const { text } = app.store.get("jobs");
    if (search.value !== text) search.value = text;
  });
  const sizes = Array.from({ length: SIZES }, (_, i) => sizeLabel(i));
  const types = app.data.cluster.gpu_types;
  return el(
    "div",
    { class: "bar", role: "search" },
    el("label", { class: "field" }, el("span", {}, "Find"), search),
    pick("Status", "status", STATUS),
    pick("Size", "size", sizes),
    types.length > 1 ? pick("Ran on", "type", types) : null,
    found,
    save,
  );
}

function columnsOf(app: App): JobColumn[] {
  const { jobs } = app.data;
  const outcome = () => app.run.outcome;
  const since = (job: number, t: number | null) => (t === null ? null : t - jobs.submit_s[job]);
  const time = (title: string, value: (job: number) => number | null): JobColumn => ({
    title,
    csv: `${title}, s`,
    value,
    cell: (job) => duration(value(job)),
  });
  const plain = (title: string, value: (job: number) => number): JobColumn => ({
    title,
    value,
    cell: (job) => count(value(job)),
  });
  const label = (title: string, value: (job: number) => string, look = "text"): JobColumn => ({
    title,
    look,
    value,
    cell: (job) => bdi(value(job)),
  });
  return [
    label("Job", (job) => jobs.id[job], "text wide"),
    label("User", (job) => app.user(jobs.user[job])),
    label("Model", (job) => app.model(jobs.model[job])),
    { ...plain("GPUs", (job) => jobs.gpus[job]), look: "narrow" },
    {
      title: "Submitted",
      look: "wide",
      csv: "Submitted, s",
      value: (job) => jobs.submit_s[job],
      cell: (job) => moment(jobs.submit_s[job]),
    },
    time("Started after", (job) => since(job, outcome().start_s[job])),
    time("Queueing", (job) => outcome().queue_s[job]),
    time("JCT", (job) => since(job, outcome().finish_s[job])),
    ...(app.data.runs.some((run) => run.network)
      ? [time("Lost to the network", (job) => secondsLost(app.data, app.run, job))]
      : []),
    plain("Preempted", (job) => outcome().preemptions[job]),
    plain("Migrated", (job) => outcome().migrations[job]),
    ...(app.data.cluster.gpu_types.length > 1
      ? [label("Ran on", (job) => typesName(app.data.cluster, app.typesOfJobs[job]), "text wide")]
      : []),
    label("Status", (job) => STATUS[outcome().status[job]]),
  ];
}

// Returns a test of jobs against the text. Each name of a user or model is compared once, and ids are
// made lower case only at the first search.
function textMatcher(app: App): (text: string) => ((job: number) => boolean) | null {
  const { jobs, users, models } = app.data;
  let ids: string[] | null = null;
  return (text) => {
    const wanted = text.trim().toLowerCase();
    if (wanted === "") return null;
    ids ??= jobs.id.map((id) => id.toLowerCase());
    const lower = ids;
    const user = users.map((name) => name.toLowerCase().includes(wanted));
    const model = models.map((name) => name.toLowerCase().includes(wanted));
    return (job) => user[jobs.user[job]] || model[jobs.model[job]] || lower[job].includes(wanted);
  };
}

function filtered(app: App, matches: ReturnType<typeof textMatcher>): Int32Array<ArrayBuffer> {
  const { jobs } = app.data;
  const { status } = app.run.outcome;
  const filter = app.store.get("jobs");
  const types = filter.type >= 0 ? app.typesOfJobs : null;
  const match = matches(filter.text);
  const kept: number[] = [];
  for (let job = 0; job < jobs.id.length; job++) {
    if (filter.status >= 0 && status[job] !== filter.status) continue;
    if (filter.size >= 0 && sizeClass(jobs.gpus[job]) !== filter.size) continue;
    if (types && !(types[job] & (1 << filter.type))) continue;
    if (match === null || match(job)) kept.push(job);
  }
  return Int32Array.from(kept);
}

const collator = new Intl.Collator("en", { numeric: true });

// Sorts in place; jobs without a value are last in both directions, equal ones stay in input order.
function sortJobs(jobs: Int32Array, { value }: JobColumn, down: boolean): void {
  const values = new Map<number, number | string | null>();
  for (const job of jobs) values.set(job, value(job));
  const sign = down ? -1 : 1;
  jobs.sort((a, b) => {
    const [x, y] = [values.get(a)!, values.get(b)!];
    if (x === null || y === null) return Number(x === null) - Number(y === null) || a - b;
    const order = typeof x === "string" ? collator.compare(x, y as string) : x - (y as number);
    return sign * order || a - b;
  });
}
