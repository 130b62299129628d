// Starts the page: reads the data, builds the report, and shows a job's page if the address
// names one.
import { addressOf, parseAddress, readChoices } from "./address";
import { answerSection } from "./answer";
import { App } from "./app";
import { calendarStart, decode } from "./data";
import { distributionsSection } from "./distributions";
import { el } from "./dom";
import { setCalendar } from "./format";
import { glanceSection } from "./glance";
import { controlBar, footer, header } from "./header";
import { jobPage } from "./job_page";
import { jobsSection } from "./jobs";
import { jobByJobSection } from "./job_by_job";
import { loadSection } from "./load";
import { networkSection } from "./network";
import { pointsSection } from "./points";
import { placementsSection } from "./placements";
import type { ReportData } from "./schema";
import { ALL_JOBS, Store, type State } from "./state";
import { summarySection } from "./summary";
import { timelineSection } from "./timeline";
import { hasTrades, tradesSection } from "./trades";
import { usersSection } from "./users";

const WRITE_MS = 250; // browsers limit the changes of the address per second

const SECTIONS: [string, string, (app: App) => HTMLElement, ((data: ReportData) => boolean)?][] = [
  ["answer", "Answer", answerSection, (data) => (data.answer ?? []).length > 0],
  ["glance", "At a glance", glanceSection],
  ["summary", "Summary", summarySection],
  ["points", "All runs", pointsSection, (data) => data.comparison !== undefined],
  ["distributions", "Times", distributionsSection],
  ["job-by-job", "Job by job", jobByJobSection, (data) => data.runs.length > 1],
  ["load", "Load", loadSection],
  ["users", "Users", usersSection, (data) => data.runs.some((run) => run.shares.user.length > 0)],
  ["trades", "Trades", tradesSection, (data) => data.runs.some(hasTrades)],
  ["timeline", "Timeline", timelineSection],
  ["placements", "Placements", placementsSection],
  ["network", "Network", networkSection, (data) => data.runs.some((run) => run.network)],
  ["jobs", "Jobs", jobsSection],
];

function firstState(data: ReportData): State {
  const { load } = data.runs[0];
  const peak = load.gpus_held.indexOf(load.gpus_held.reduce((a, b) => Math.max(a, b), 0));
  return {
    focus: 0,
    shown: data.runs.map(() => true),
    baseline: 0,
    user: data.runs[0].shares.user[0] ?? 0,
    time_s: (Math.max(0, peak) + 0.5) * load.bin_s,
    gpu: 0,
    view: null,
    jobs: ALL_JOBS,
    colourBy: "user",
    theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light",
  };
}

function followTheme(store: Store): void {
  // The first of all watchers, so that the others read the new colours.
  store.watch(["theme"], () => (document.documentElement.dataset.theme = store.get("theme")));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) =>
    store.set({ theme: event.matches ? "dark" : "light" }),
  );
  let screen = store.get("theme");
  addEventListener("beforeprint", () => {
    screen = store.get("theme");
    store.set({ theme: "light" });
  });
  addEventListener("afterprint", () => store.set({ theme: screen }));
}

// Keeps the reader's choices in the address. Entries of the history that are written here have a state:
// going back to one shows its place, and changes no choice.
function keepAddress(app: App, first: State): () => void {
  let late = 0;
  const write = () => {
    clearTimeout(late);
    const { place } = parseAddress(location.hash);
    history.replaceState({ own: true }, "", addressOf(app.data, place, app.store.all, first));
  };
  app.store.watch(Object.keys(first) as (keyof State)[], () => {
    clearTimeout(late);
    late = setTimeout(write, WRITE_MS);
  });
  return write;
}

// Applies the choices of a link. Then it shows the page of the job in the address, or else the report, at
// the named section or at the reader's last position.
function route(app: App, report: HTMLElement, write: () => void): void {
  const own = history.state?.own === true;
  const { place, choices } = parseAddress(location.hash);
  if (!own) app.store.set(readChoices(app.data, choices, app.store.all));
  write();
  const [, id] = /^job\/(.*)$/s.exec(place) ?? [];
  const open = document.querySelector("main.job");
  if (id === undefined) {
    const section = document.getElementById(place);
    if (open) {
      open.remove();
      report.hidden = false;
      document.title = `${app.data.title} – Fairlead report`;
      scrollTo(0, Number(report.dataset.scroll ?? 0));
    }
    if (!own) section?.scrollIntoView();
    return;
  }
  if (!open) report.dataset.scroll = String(scrollY);
  open?.remove();
  report.hidden = true;
  const page = jobPage(app, decoded(id));
  document.body.append(page);
  document.title = `Job ${decoded(id)} – Fairlead report`;
  scrollTo(0, 0);
  page.querySelector("h1")?.focus({ preventScroll: true });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function start(): Promise<void> {
  const embedded = document.getElementById("fairlead-data")!;
  const data = await decode(embedded.textContent ?? "");
  embedded.remove(); // its long text is no longer needed
  setCalendar(calendarStart(data));
  const first = firstState(data);
  const given = readChoices(data, parseAddress(location.hash).choices, first);
  const store = new Store({ ...first, ...given });
  followTheme(store);
  const app = new App(data, store);
  const sections = SECTIONS.filter(([, , , has]) => has?.(data) ?? true);
  const main = el("main", {}, ...sections.map(([, , make]) => make(app)));
  const bar = controlBar(
    app,
    sections.map(([id, text]) => [id, text]),
  );
  const report = el("div", { id: "report" }, header(app), bar, main, footer(app));
  document.title = `${data.title} – Fairlead report`;
  document.getElementById("loading")!.remove();
  document.body.append(report);
  const write = keepAddress(app, first);
  addEventListener("hashchange", () => route(app, report, write));
  route(app, report, write);
  // Sizes are reported before the next frame is painted, and canvases are drawn in the frame after it.
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      performance.mark("ready");
      document.documentElement.dataset.ready = "true";
    }),
  );
}

start().catch((error: unknown) => {
  const text = error instanceof Error ? error.message : String(error);
  const loading = document.getElementById("loading") ?? document.body.appendChild(el("p"));
  loading.textContent = `This report could not be read: ${text}`;
  loading.setAttribute("role", "alert");
  document.documentElement.dataset.ready = "failed";
});
