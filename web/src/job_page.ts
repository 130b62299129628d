// One job: its facts, its life under every run on one time axis, its nodes, and the policy's notes.
import { App } from "./app";
import { onWidth } from "./canvas";
import { placeText } from "./cluster";
import { bdi, button, choice, el, scroller, table } from "./dom";
import { count, duration, moment, number, plural } from "./format";
import { jobRunsOf, staysOf, type Stay } from "./job_runs";
import { STATUS } from "./jobs";
import { drawLife } from "./life";
import { secondsLost } from "./network";
import { noteText } from "./notes";
import { TIERS } from "./palette";
import { tierEntry } from "./placements";
import { NOTE_KINDS, type Run } from "./schema";
import { typesName } from "./types";

const FEW_STAYS = 100;
const MOST_NOTES = 500;
const LEAST_BAR = 240; // pixels

// Returns the page of a job, or a message that there is no job of that name.
export function jobPage(app: App, id: string): HTMLElement {
  const back = el("a", { href: "#", class: "back" }, "← Report");
  const job = app.rowOfId.get(id);
  if (job === undefined) {
    const text = el("h1", { tabindex: -1 }, "There is no job ", bdi(id));
    return el("main", { class: "job" }, back, text);
  }
  const detail = el("div");
  const page = el(
    "main",
    { class: "job" },
    back,
    el("h1", { tabindex: -1 }, "Job ", bdi(id)),
    facts(app, job),
    lives(app, job),
    detail,
  );
  const draw = () =>
    detail.replaceChildren(
      runBar(app, draw),
      waitList(app, job),
      stayList(app, job),
      noteList(app, job),
    );
  draw();
  return page;
}

function facts(app: App, job: number): HTMLElement {
  const { jobs } = app.data;
  const fact = (label: string, value: string) =>
    el("div", {}, el("dt", {}, label), el("dd", {}, bdi(value)));
  return el(
    "dl",
    { class: "cards" },
    fact("User", app.user(jobs.user[job])),
    fact("Model", app.model(jobs.model[job])),
    fact("Requested GPUs", count(jobs.gpus[job])),
    fact("Submitted", moment(jobs.submit_s[job])),
  );
}

// One row per run: figures and the bar of the job's life, all bars on one time scale.
function lives(app: App, job: number): HTMLElement {
  const { data } = app;
  const submit = data.jobs.submit_s[job];
  const end = Math.max(submit + 1e-3, ...data.runs.map((run) => lastMoment(run, job)));
  const bars: ((width: number) => void)[] = [];
  const life = (run: Run) => {
    const canvas = el("canvas", { role: "img", "aria-label": lifeText(run, job, submit) });
    bars.push((width) => drawLife(canvas, width, run, job, submit, end));
    return canvas;
  };
  const since = (t: number | null) => (t === null ? "–" : duration(t - submit));
  const body = table<Run>(
    "The job under each run",
    [
      { title: "Run", text: true, cell: (run) => bdi(run.label) },
      { title: `From submission to ${duration(end - submit)} later`, text: true, cell: life },
      { title: "Status", text: true, cell: (run) => STATUS[run.outcome.status[job]] },
      { title: "Started after", cell: (run) => since(run.outcome.start_s[job]) },
      { title: "Queueing", cell: (run) => duration(run.outcome.queue_s[job]) },
      { title: "JCT", cell: (run) => since(run.outcome.finish_s[job]) },
      { title: "Preempted", cell: (run) => count(run.outcome.preemptions[job]) },
      { title: "Migrated", cell: (run) => count(run.outcome.migrations[job]) },
      ...(data.runs.some((run) => run.network)
        ? [
            {
              title: "Lost to the network",
              cell: (run: Run) => duration(secondsLost(data, run, job)),
            },
          ]
        : []),
    ],
    data.runs,
  );
  const box = scroller("The job under each run", body);
  // The bars get the space that the other columns leave.
  onWidth(box, (width) => {
    bars.forEach((draw) => draw(LEAST_BAR));
    const wide = Math.max(LEAST_BAR, LEAST_BAR + width - body.offsetWidth);
    bars.forEach((draw) => draw(wide));
  });
  return el(
    "section",
    { "aria-labelledby": "lives-title" },
    el("h2", { id: "lives-title" }, "Its life"),
    el(
      "ul",
      { class: "legend" },
      ...TIERS.map((text, tier) => tierEntry(text, tier)),
      el("li", {}, "thin line: waiting"),
      el("li", {}, "notch: moved to other GPUs (drawn if there is room)"),
    ),
    box,
  );
}

function lastMoment(run: Run, job: number): number {
  const stays = staysOf(jobRunsOf(run), job);
  return run.outcome.finish_s[job] ?? stays.reduce((t, stay) => Math.max(t, stay.end), 0);
}

function lifeText(run: Run, job: number, submit: number): string {
  const stays = staysOf(jobRunsOf(run), job);
  if (stays.length === 0) return "never ran";
  const moves = stays.filter((stay) => stay.moved).length;
  return (
    `waits ${duration(stays[0].begin - submit)}, then ${plural(stays.length, "stay")} on GPUs, ` +
    `${plural(moves, "move")}, ends ${duration(lastMoment(run, job) - submit)} after submission`
  );
}

function runBar(app: App, draw: () => void): HTMLElement {
  const labels = app.data.runs.map((run) => run.label);
  const run = choice("Details under", labels, app.store.get("focus"), (focus) => {
    app.store.set({ focus });
    draw();
  });
  return el("div", { class: "bar" }, run.element);
}

function stayList(app: App, job: number): HTMLElement {
  const jobRuns = jobRunsOf(app.run);
  const all = staysOf(jobRuns, job);
  const { cluster, jobs } = app.data;
  const submit = jobs.submit_s[job];
  const where = (stay: Stay) =>
    stay.rows
      .map((row) => placeText(cluster, app.layout, jobRuns.gpu[row], jobRuns.gpus[row]))
      .join(", ");
  const types = (stay: Stay) => {
    const mask = stay.rows.reduce(
      (m, row) => m | (1 << cluster.nodes.type[app.layout.nodeOfGpu[jobRuns.gpu[row]]]),
      0,
    );
    return typesName(cluster, mask);
  };
  const kind = (stay: Stay) => (stay === all[0] ? "started" : stay.moved ? "moved" : "resumed");
  const list = (stays: Stay[]) =>
    scroller(
      "Stays",
      table<Stay>(
        "Places of the job",
        [
          { title: "From", cell: (stay) => moment(stay.begin) },
          { title: "after submission", cell: (stay) => duration(stay.begin - submit) },
          { title: "For", cell: (stay) => duration(stay.end - stay.begin) },
          { title: "How", text: true, cell: kind },
          { title: "GPUs", cell: (stay) => count(stay.gpus) },
          { title: "Type", text: true, cell: (stay) => bdi(types(stay)) },
          { title: "Tier", text: true, cell: (stay) => TIERS[stay.tier] },
          { title: "Where", text: true, cell: (stay) => bdi(where(stay)) },
        ],
        stays,
      ),
    );
  const section = el("section", {}, el("h2", {}, "Places"));
  if (all.length === 0) section.append(el("p", {}, "It never had a GPU in this run."));
  else section.append(list(all.slice(0, FEW_STAYS)));
  if (all.length > FEW_STAYS) {
    const more = button(`Show all ${count(all.length)} stays`, () => {
      section.lastChild!.remove();
      section.lastChild!.replaceWith(list(all));
    });
    section.append(more);
  }
  return section;
}

// The causes of its waiting, if the report has them.
function waitList(app: App, job: number): HTMLElement {
  const section = el("section", {}, el("h2", {}, "Why it waited"));
  const { waits } = app.run;
  const rows = waits ? waits.job.flatMap((row, i) => (row === job ? [i] : [])) : [];
  if (!waits || rows.length === 0) {
    section.append(
      el("p", {}, "Reported only for the jobs that waited most; fairlead why explains every job."),
    );
    return section;
  }
  const why = (i: number) => {
    const part = Math.round(100 * waits.part[i]);
    return waits.causes[waits.cause[i]] + (part < 100 ? ` (${part} % of this time)` : "");
  };
  const other = (i: number) => {
    const row = waits.other[i];
    return row < 0 ? "–" : jobLink(app.data.jobs.id[row]);
  };
  const body = table<number>(
    "Why the job waited",
    [
      { title: "From", cell: (i) => moment(waits.from_s[i]) },
      { title: "For", cell: (i) => duration(waits.to_s[i] - waits.from_s[i]) },
      { title: "Mostly because", text: true, cell: why },
      { title: "Free GPUs it could use", cell: (i) => number(waits.free[i]) },
      { title: "At most on one node", cell: (i) => count(waits.hole[i]) },
      { title: "Other job", text: true, cell: other },
    ],
    rows,
  );
  section.append(scroller("Its longest waits", body));
  return section;
}

// `idleFrom`: the starts of the times without GPUs, in order.
function noteWords(app: App, i: number, idleFrom: number[]): (Node | string)[] {
  const { notes } = app.run;
  const kind = NOTE_KINDS[notes.kind[i]];
  if (kind === "made_room" && notes.value[i] >= 0) {
    return ["had to make room for ", jobLink(app.data.jobs.id[notes.value[i]])];
  }
  const since = idleFrom.filter((t) => t <= notes.t_s[i]).at(-1) ?? notes.t_s[i];
  return [noteText(kind, notes.value[i], notes.t_s[i] - since)];
}

function jobLink(id: string): HTMLElement {
  return el("a", { href: `#job/${encodeURIComponent(id)}` }, bdi(id));
}

function noteList(app: App, job: number): HTMLElement {
  const { notes } = app.run;
  const idleFrom = [app.data.jobs.submit_s[job]];
  for (const stay of staysOf(jobRunsOf(app.run), job)) idleFrom.push(stay.end);
  const rows: number[] = [];
  notes.job.forEach((row, i) => {
    if (row === job) rows.push(i);
  });
  const items = rows
    .slice(0, MOST_NOTES)
    .map((i) =>
      el("li", {}, el("b", {}, moment(notes.t_s[i])), " ", ...noteWords(app, i, idleFrom)),
    );
  const section = el("section", {}, el("h2", {}, "Notes of the policy"));
  if (rows.length === 0) section.append(el("p", {}, "Nothing about this job."));
  else section.append(el("ul", { class: "notes" }, ...items));
  const left = rows.length - items.length;
  if (left > 0)
    section.append(el("p", { class: "note" }, `${plural(left, "later note")} left out.`));
  if (notes.omitted > 0) {
    section.append(
      el(
        "p",
        { class: "note" },
        `The report leaves out ${plural(notes.omitted, "note")} of this run.`,
      ),
    );
  }
  return section;
}
