// The table of jobs: filtered, sorted, and as long as it needs to be.
import type { App } from "./app";
import { bdi, choice, el, section } from "./dom";
import { count, duration, moment } from "./format";
import { sizeClass, sizeLabel } from "./palette";
import { VirtualRows } from "./virtual_rows";

export const STATUS = ["finished", "failed", "rejected", "pending"];
const SIZES = 6;

interface Filter {
  text: string;
  status: number; // -1: any
  size: number; // -1: any
}

interface Sort {
  column: number; // -1: input order
  down: boolean;
}

interface JobColumn {
  title: string;
  value: (job: number) => number | string | null;
  cell: (job: number) => Node | string;
}

export function jobsSection(app: App): HTMLElement {
  const filter: Filter = { text: "", status: -1, size: -1 };
  const sort: Sort = { column: -1, down: false };
  const columns = columnsOf(app);
  const heads = columns.map((column, i) => headCell(column.title, () => sortBy(i)));
  const found = el("p", { class: "figure", role: "status" });
  const rows = new VirtualRows(
    "Jobs",
    el("tr", {}, ...heads),
    (job) => columns.map((column) => column.cell(job)),
    (job) => app.openJob(job),
  );
  const matches = textMatcher(app);
  const refresh = () => {
    const jobs = filtered(app, filter, matches);
    if (sort.column >= 0) sortJobs(jobs, columns[sort.column], sort.down);
    heads.forEach((head, i) => {
      const way = sort.down ? "descending" : "ascending";
      head.setAttribute("aria-sort", i === sort.column ? way : "none");
    });
    found.textContent = `${count(jobs.length)} of ${count(app.data.jobs.id.length)} jobs`;
    rows.show(jobs);
  };
  const sortBy = (column: number) => {
    sort.down = sort.column === column && !sort.down;
    sort.column = column;
    refresh();
  };
  app.store.watch(["focus"], refresh);
  return section("jobs", "Jobs", filterBar(filter, refresh, found), rows.box);
}

function headCell(title: string, onclick: () => void): HTMLElement {
  return el(
    "th",
    { scope: "col", "aria-sort": "none" },
    el("button", { type: "button", onclick }, title),
  );
}

function filterBar(filter: Filter, refresh: () => void, found: HTMLElement): HTMLElement {
  const search = el("input", {
    type: "search",
    id: "job-filter",
    placeholder: "job, user or model",
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => {
      filter.text = search.value;
      refresh();
    },
  });
  const status = choice("Status", ["any", ...STATUS], 0, (i) => {
    filter.status = i - 1;
    refresh();
  });
  const sizes = Array.from({ length: SIZES }, (_, i) => sizeLabel(i));
  const size = choice("Size", ["any", ...sizes], 0, (i) => {
    filter.size = i - 1;
    refresh();
  });
  return el(
    "div",
    { class: "bar", role: "search" },
    el("label", { class: "field" }, el("span", {}, "Find"), search),
    status.element,
    size.element,
    found,
  );
}

function columnsOf(app: App): JobColumn[] {
  const { jobs } = app.data;
  const outcome = () => app.run.outcome;
  const since = (job: number, t: number | null) => (t === null ? null : t - jobs.submit_s[job]);
  const time = (title: string, value: (job: number) => number | null): JobColumn => ({
    title,
    value,
    cell: (job) => duration(value(job)),
  });
  const plain = (title: string, value: (job: number) => number): JobColumn => ({
    title,
    value,
    cell: (job) => count(value(job)),
  });
  const label = (title: string, value: (job: number) => string): JobColumn => ({
    title,
    value,
    cell: (job) => bdi(value(job)),
  });
  return [
    label("Job", (job) => jobs.id[job]),
    label("User", (job) => app.user(jobs.user[job])),
    label("Model", (job) => app.model(jobs.model[job])),
    plain("GPUs", (job) => jobs.gpus[job]),
    {
      title: "Submitted",
      value: (job) => jobs.submit_s[job],
      cell: (job) => moment(jobs.submit_s[job]),
    },
    time("Started after", (job) => since(job, outcome().start_s[job])),
    time("Queueing", (job) => outcome().queue_s[job]),
    time("JCT", (job) => since(job, outcome().finish_s[job])),
    plain("Preempted", (job) => outcome().preemptions[job]),
    plain("Migrated", (job) => outcome().migrations[job]),
    label("Status", (job) => STATUS[outcome().status[job]]),
  ];
}

// A test of jobs against the text: names of users and models are looked at once each, and ids are
// made lower case at the first search only.
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

function filtered(app: App, filter: Filter, matches: ReturnType<typeof textMatcher>): Int32Array {
  const { jobs } = app.data;
  const { status } = app.run.outcome;
  const match = matches(filter.text);
  const kept: number[] = [];
  for (let job = 0; job < jobs.id.length; job++) {
    if (filter.status >= 0 && status[job] !== filter.status) continue;
    if (filter.size >= 0 && sizeClass(jobs.gpus[job]) !== filter.size) continue;
    if (match === null || match(job)) kept.push(job);
  }
  return Int32Array.from(kept);
}

const collator = new Intl.Collator("en", { numeric: true });

// Sorts in place; jobs without a value come last either way, equals stay in input order.
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
