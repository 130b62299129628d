// Starts the page: reads the data, builds the report, and shows a job's page where the address asks
// for one.
import { App } from "./app";
import { decode } from "./data";
import { distributionsSection } from "./distributions";
import { el } from "./dom";
import { controlBar, footer, header } from "./header";
import { jobPage } from "./job_page";
import { jobsSection } from "./jobs";
import { loadSection } from "./load";
import { placementsSection } from "./placements";
import type { ReportData } from "./schema";
import { Store, type State } from "./state";
import { summarySection } from "./summary";
import { timelineSection } from "./timeline";
import { tradesSection } from "./trades";
import { usersSection } from "./users";

const SECTIONS: [string, string, (app: App) => HTMLElement][] = [
  ["summary", "Summary", summarySection],
  ["distributions", "Times", distributionsSection],
  ["load", "Load", loadSection],
  ["users", "Users", usersSection],
  ["trades", "Trades", tradesSection],
  ["timeline", "Timeline", timelineSection],
  ["placements", "Placements", placementsSection],
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
    colourBy: "user",
    theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light",
  };
}

function followTheme(store: Store): void {
  // First of all watchers, so that the others read the new colours.
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

// Shows the page of the job that the address names, else the report, where the reader left it.
function route(app: App, report: HTMLElement): void {
  const [, id] = /^#job\/(.*)$/s.exec(location.hash) ?? [];
  const open = document.querySelector("main.job");
  if (id === undefined) {
    if (!open) return;
    open.remove();
    report.hidden = false;
    document.title = `${app.data.title} – Fairlead report`;
    scrollTo(0, Number(report.dataset.scroll ?? 0));
    document.getElementById(location.hash.slice(1))?.scrollIntoView();
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
  const holder = document.getElementById("fairlead-data")!;
  const data = await decode(holder.textContent ?? "");
  holder.remove(); // its text is no longer needed, and long
  const store = new Store(firstState(data));
  followTheme(store);
  const app = new App(data, store);
  const main = el("main", {}, ...SECTIONS.map(([, , make]) => make(app)));
  const bar = controlBar(
    app,
    SECTIONS.map(([id, text]) => [id, text]),
  );
  const report = el("div", { id: "report" }, header(app), bar, main, footer(app));
  document.title = `${data.title} – Fairlead report`;
  document.getElementById("loading")!.remove();
  document.body.append(report);
  addEventListener("hashchange", () => route(app, report));
  route(app, report);
  // Sizes are told before the next frame is painted, and canvases drawn in the one after it.
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
