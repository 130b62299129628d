// The reader's choices as part of the address, so that a link opens the same view.
//
// An address is "#PLACE?KEY=VALUE&...": PLACE is a section or "job/ID". Absent keys change
// nothing, and a value that is invalid in this report is ignored.
import type { ReportData } from "./schema";
import { ALL_JOBS, type ColourBy, type JobFilter, type State } from "./state";

const COLOURS: ColourBy[] = ["user", "model", "size"];

export interface Address {
  place: string;
  choices: URLSearchParams;
}

export function parseAddress(hash: string): Address {
  const [place, ...rest] = hash.replace(/^#/, "").split("?");
  return { place, choices: new URLSearchParams(rest.join("?")) };
}

// Returns "#PLACE?...", with the differences between the two states.
export function addressOf(data: ReportData, place: string, state: State, first: State): string {
  const choices = choicesOf(data, state, first).toString();
  return `#${place}${choices ? `?${choices}` : ""}`;
}

export function choicesOf(data: ReportData, state: State, first: State): URLSearchParams {
  const choices = new URLSearchParams();
  const put = (key: string, value: (s: State) => string) => {
    if (value(state) !== value(first)) choices.set(key, value(state));
  };
  put("run", (s) => data.runs[s.focus].label);
  put("base", (s) => data.runs[s.baseline].label);
  put("shown", (s) => s.shown.flatMap((on, i) => (on ? [i] : [])).join("."));
  put("user", (s) => data.users[s.user] ?? "");
  put("t", (s) => short(s.time_s));
  put("gpu", (s) => String(s.gpu));
  put("view", (s) => (s.view ? viewText(s.view) : ""));
  put("colour", (s) => s.colourBy);
  put("theme", (s) => s.theme);
  put("find", (s) => s.jobs.text);
  put("status", (s) => String(s.jobs.status));
  put("size", (s) => String(s.jobs.size));
  put("type", (s) => String(s.jobs.type));
  put("sort", (s) => (s.jobs.down ? "-" : "") + s.jobs.sort);
  return choices;
}

// Returns the part of the state that is in the address.
export function readChoices(
  data: ReportData,
  choices: URLSearchParams,
  now: State,
): Partial<State> {
  const change: Partial<State> = {};
  const jobs: JobFilter = { ...now.jobs };
  const take = (key: string, set: (value: string) => void) => {
    const value = choices.get(key);
    if (value !== null) set(value);
  };
  const labels = data.runs.map((run) => run.label);
  const known = (row: number, set: (row: number) => void) => row >= 0 && set(row);
  take("run", (text) => known(labels.indexOf(text), (row) => (change.focus = row)));
  take("base", (text) => known(labels.indexOf(text), (row) => (change.baseline = row)));
  take("user", (text) => known(data.users.indexOf(text), (row) => (change.user = row)));
  take("shown", (text) => {
    const rows = new Set(text.split(".").map(Number));
    const shown = labels.map((_, i) => rows.has(i));
    if (shown.some(Boolean)) change.shown = shown;
  });
  take("t", (text) => finite(text, (t) => (change.time_s = Math.max(0, t))));
  const gpus = data.cluster.nodes.gpus.reduce((a, b) => a + b, 0);
  take("gpu", (text) => finite(text, (gpu) => whole(gpu, gpus) && (change.gpu = gpu)));
  take("view", (text) => {
    const [t0, t1, p0, p1] = text.split(",").map(Number);
    if (text === "") change.view = null;
    else if (t0 < t1 && p0 < p1 && Number.isFinite(t1 - t0 + p1 - p0))
      change.view = { t0, t1, p0, p1 };
  });
  take("colour", (text) => {
    if (COLOURS.includes(text as ColourBy)) change.colourBy = text as ColourBy;
  });
  take("theme", (text) => {
    if (text === "dark" || text === "light") change.theme = text;
  });
  take("find", (text) => (jobs.text = text));
  for (const key of ["status", "size", "type"] as const) {
    take(key, (text) => finite(text, (n) => (jobs[key] = Math.max(-1, Math.floor(n)))));
  }
  take("sort", (text) => {
    jobs.down = text.startsWith("-");
    jobs.sort = text.replace(/^-/, "");
  });
  const keys = Object.keys(ALL_JOBS) as (keyof JobFilter)[];
  if (keys.some((key) => jobs[key] !== now.jobs[key])) change.jobs = jobs;
  return change;
}

export function viewText({ t0, t1, p0, p1 }: NonNullable<State["view"]>): string {
  return [t0, t1, p0, p1].map(short).join();
}

const short = (value: number) => String(Number(value.toFixed(3)));
const whole = (value: number, end: number) => Number.isInteger(value) && value >= 0 && value < end;

function finite(text: string, set: (value: number) => void): void {
  const value = Number(text);
  if (text !== "" && Number.isFinite(value)) set(value);
}
