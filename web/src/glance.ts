// At a glance: the main events, one sentence each, with a link to the view that shows the event.
import type { App } from "./app";
import { bdi, el, section } from "./dom";
import { count, duration, moment, number, percent, plural, times } from "./format";
import { idleWhileWaiting, longestWait, shortOfShare } from "./findings";

const EQUAL = 0.01; // relative difference of mean completion times below which runs count as equal

type Words = (Node | string)[];

export function glanceSection(app: App): HTMLElement {
  const list = el("ul", { class: "glance" });
  app.store.watch(["focus"], () => {
    const said = [comparison(app), idle(app), short(app), waited(app)];
    list.replaceChildren(
      ...said.filter((words) => words !== null).map((words) => el("li", {}, ...words)),
    );
  });
  return section("glance", "At a glance", list);
}

// Returns a link to a place of the page and a moment of the focused run.
function link(
  app: App,
  words: Node | string,
  place: string,
  choices: Record<string, string> = {},
): HTMLElement {
  const asked = new URLSearchParams({ run: app.run.label, ...choices });
  return el("a", { href: `#${place}?${asked}` }, words);
}

// The stretch with a margin of a tenth on each side, for all GPUs.
function around(app: App, from: number, to: number): string {
  const margin = (to - from) / 10;
  return [Math.max(0, from - margin), to + margin, 0, app.layout.gpus]
    .map((v) => +v.toFixed(3))
    .join();
}

function comparison(app: App): Words | null {
  const runs = app.data.runs
    .filter((run) => run.summary.jct_avg_s !== null)
    .sort((a, b) => a.summary.jct_avg_s! - b.summary.jct_avg_s!);
  if (runs.length < 2) return null;
  const [best, last] = [runs[0], runs[runs.length - 1]];
  const mine = runs.indexOf(app.run);
  const jct = (run: typeof best) => run.summary.jct_avg_s!;
  if (jct(last) < (1 + EQUAL) * jct(best)) {
    return [
      "The ",
      link(app, "mean completion times", "summary"),
      ` of the ${count(runs.length)} runs are within a hundredth of each other, about ${duration(jct(best))}.`,
    ];
  }
  const words: Words = [
    bdi(best.label),
    " has the ",
    link(app, "shortest mean completion time", "summary"),
    ` of ${count(runs.length)} runs, ${duration(jct(best))}; the longest is ${times(jct(last) / jct(best))} that, under `,
    bdi(last.label),
    ".",
  ];
  if (mine > 0 && mine < runs.length - 1) {
    words.push(" ", bdi(app.run.label), ` takes ${duration(jct(app.run))}.`);
  }
  return words;
}

function idle(app: App): Words {
  const found = idleWhileWaiting(app.data, app.run);
  const under: Words = ["Under ", bdi(app.run.label), " "];
  if (!found) {
    return [
      ...under,
      link(app, "hardly any GPU was free while a waiting job asked for it", "load"),
      ".",
    ];
  }
  const stretch = link(app, `from ${moment(found.from)} to ${moment(found.to)}`, "timeline", {
    view: around(app, found.from, found.to),
    t: String(+((found.from + found.to) / 2).toFixed(3)),
  });
  return [
    ...under,
    `${percent(found.part)} of all GPU time was free although waiting jobs asked for it, most of it in one stretch `,
    stretch,
    `: ${number(round(found.free))} of ${number(round(found.up))} GPUs free and ${plural(Math.max(1, Math.round(found.waiting)), "job")} waiting, on average.`,
  ];
}

const round = (value: number) => (value < 10 ? +value.toFixed(1) : Math.round(value));

function short(app: App): Words | null {
  if (app.run.shares.user.length === 0) return null;
  const found = shortOfShare(app.run);
  if (!found)
    return [
      link(app, "No user fell behind its share", "users"),
      " by more than a hundredth of it.",
    ];
  const user = app.user(found.user);
  return [
    bdi(user),
    " fell short of its share most: ",
    link(app, `${number(found.missed)} GPU-hours behind`, "users", { user }),
    ` between ${moment(found.from)} and ${moment(found.to)}, when it received ${percent(found.part, 0)} of its entitlement.`,
  ];
}

function waited(app: App): Words | null {
  const found = longestWait(app.data, app.run);
  if (!found) return [link(app, "No job waited", "jobs"), " for GPUs."];
  const { jobs } = app.data;
  const id = jobs.id[found.job];
  const words: Words = [
    link(app, bdi(id), `job/${encodeURIComponent(id)}`),
    " of ",
    bdi(app.user(jobs.user[found.job])),
    ` (${plural(jobs.gpus[found.job], "GPU")}) waited longest, ${duration(found.waited)}`,
  ];
  if (found.cause) words.push(`, mostly because ${found.cause}`);
  words.push(".");
  if (found.longWaits) {
    const { cause, part } = found.longWaits;
    words.push(
      ` ${percent(part, 0)} of the waiting of the `,
      link(app, "jobs that waited most", "jobs", { sort: "-Queueing" }),
      cause === found.cause ? " had the same cause." : ` was because ${cause}.`,
    );
  }
  return words;
}
