// The section with the timeline and the map: one cursor, one choice of colours, one line of text about
// the job under the cursor.
import type { App } from "./app";
import { onWidth } from "./canvas";
import { placeText } from "./cluster";
import { bdi, button, choice, el, section } from "./dom";
import { csv, saveCanvas, saveMenu, saveText, type Cell } from "./download";
import { count, duration, moment, plural } from "./format";
import { Gantt } from "./gantt";
import { listen, reveal, zoomRows, zoomTime } from "./gantt_input";
import { jobRunAt, jobRunsAt, jobRunsOf } from "./job_runs";
import { ClusterMap } from "./map";
import { classesOf, readTheme, TIERS, typeShade } from "./palette";
import type { View } from "./raster";
import type { ColourBy } from "./state";
import { timelineSvg } from "./timeline_svg";
import { gpusOfTypes, typeOfGpu } from "./types";

const WAYS: ColourBy[] = ["user", "model", "size"];
const SLIDER = 2000;

export function timelineSection(app: App): HTMLElement {
  const gantt = new Gantt(app);
  const map = new ClusterMap(app);
  const legend = el("ul", { class: "legend", "aria-label": "Colours" });
  const types = typeLegend(app);
  const note = el("p", { class: "note" });
  const rows = el("p", { class: "note" });
  const box = ganttBox(app, gantt);
  gantt.onview = (unit) => {
    rows.textContent = rowsText(unit);
    box.querySelector(".canvas-box")!.setAttribute("aria-label", viewText(app, gantt));
  };

  app.store.watch(["focus", "colourBy", "theme"], () => {
    const classes = classesOf(app.data, app.run, app.store.get("colourBy"));
    gantt.reload(classes);
    map.reload(classes);
    legend.replaceChildren(...classes.labels.map((label, i) => entry(label, classes.colours[i])));
    const joined = app.run.holds.resolution_s;
    note.textContent = joined
      ? `This run has many pieces; pieces of one job on one place less than ${duration(joined)} apart are joined.`
      : "";
  });
  app.store.watch(["view"], () => {
    const view = app.store.get("view");
    if (view !== gantt.view && (view || !gantt.isWhole())) gantt.look(view ?? gantt.whole());
  });
  app.store.watch(["time_s", "gpu"], () => {
    reveal(gantt, app.store.get("time_s"), app.layout.placeOfGpu[app.store.get("gpu")]);
    gantt.redraw(false);
    map.redraw();
  });

  return section(
    "timeline",
    "Jobs on GPUs",
    el(
      "div",
      { class: "bar" },
      choice(
        "Colour by",
        ["user", "model", "job size"],
        WAYS.indexOf(app.store.get("colourBy")),
        (i) => app.store.set({ colourBy: WAYS[i] }),
      ).element,
      timeSlider(app, gantt),
    ),
    legend,
    types,
    cursorLine(app),
    box,
    rows,
    note,
    el("h3", {}, "The cluster at the cursor's time"),
    mapBox(app, map),
  );
}

function viewText(app: App, { view }: Gantt): string {
  const gpus = Math.round(view.p1 - view.p0);
  const span = `from ${moment(view.t0)} to ${moment(view.t1)}`;
  return `Timeline of jobs on GPUs: ${count(gpus)} of ${plural(app.layout.gpus, "GPU")}, ${span}`;
}

function rowsText(unit: string): string {
  return unit === "GPU"
    ? "A row is a GPU. Bars narrower than a pixel blend into the share of busy time."
    : `A row is a ${unit}; a deeper colour means a larger share of busy GPUs. Zoom in for jobs.`;
}

function entry(label: string, colour: string): HTMLElement {
  const box = el("span", { class: "box", "aria-hidden": "true" });
  box.style.background = colour;
  return el("li", {}, box, bdi(label));
}

// The shades of GPU types beside rows and over nodes, if there are several types.
function typeLegend(app: App): HTMLElement {
  const { cluster } = app.data;
  const list = el("ul", {
    class: "legend",
    "aria-label": "GPU types",
    hidden: cluster.gpu_types.length < 2,
  });
  const gpus = gpusOfTypes(cluster);
  app.store.watch(["theme"], () =>
    list.replaceChildren(
      ...cluster.gpu_types.map((type, t) =>
        entry(`${type}, ${plural(gpus[t], "GPU")}`, typeShade(t)),
      ),
    ),
  );
  return list;
}

function timeSlider(app: App, gantt: Gantt): HTMLElement {
  const output = el("output", { class: "figure" });
  const input = el("input", {
    type: "range",
    min: 0,
    max: SLIDER,
    "aria-label": "Time of cursor and map",
    oninput: () => app.store.set({ time_s: (Number(input.value) / SLIDER) * gantt.whole().t1 }),
  });
  app.store.watch(["time_s", "focus"], () => {
    const t = app.store.get("time_s");
    input.value = String(Math.round((t / gantt.whole().t1) * SLIDER));
    input.setAttribute("aria-valuetext", moment(t));
    output.textContent = moment(t);
  });
  return el("label", { class: "field wide" }, el("span", {}, "Time"), input, output);
}

// The job on the GPU under the cursor, in words, with a link to it.
function cursorLine(app: App): HTMLElement {
  const text = el("span", { "aria-live": "polite" });
  const open = el("a", { href: "#timeline" }, "Open this job");
  app.store.watch(["time_s", "gpu", "focus"], () => {
    const { data, layout, store } = app;
    const [t, gpu] = [store.get("time_s"), store.get("gpu")];
    const jobRuns = jobRunsOf(app.run);
    const jobRun = jobRunAt(jobRuns, gpu, t);
    const type = data.cluster.gpu_types[data.cluster.nodes.type[layout.nodeOfGpu[gpu]]];
    const where = `${placeText(data.cluster, layout, gpu, 1)} (${type}) at ${moment(t)}: `;
    open.hidden = jobRun < 0;
    if (jobRun < 0) {
      text.replaceChildren(where, "free.");
      return;
    }
    const job = jobRuns.job[jobRun];
    open.href = `#job/${encodeURIComponent(data.jobs.id[job])}`;
    text.replaceChildren(
      where,
      el("b", {}, bdi(data.jobs.id[job])),
      " of ",
      bdi(app.user(data.jobs.user[job])),
      ` (${data.models[data.jobs.model[job]] || "no model named"}, ${plural(data.jobs.gpus[job], "GPU")}), `,
      `here from ${moment(jobRuns.begin[jobRun])} to ${moment(jobRuns.end[jobRun])}, tier ${TIERS[jobRuns.tier[jobRun]]}.`,
    );
  });
  return el("p", { class: "cursor-line" }, text, " ", open);
}

function ganttBox(app: App, gantt: Gantt): HTMLElement {
  const tip = el("div", { class: "tip", hidden: true });
  const box = el(
    "div",
    {
      class: "canvas-box",
      tabindex: 0,
      role: "application",
      "aria-label": "Timeline of jobs on GPUs",
      "aria-describedby": "timeline-keys",
    },
    gantt.canvas,
    tip,
  );
  listen(app, gantt, box);
  box.addEventListener("pointermove", (event) => showTip(app, gantt, tip, event));
  box.addEventListener("pointerleave", () => (tip.hidden = true));
  box.addEventListener("dblclick", () => {
    const jobRun = jobRunAt(jobRunsOf(app.run), app.store.get("gpu"), app.store.get("time_s"));
    if (jobRun >= 0) app.openJob(jobRunsOf(app.run).job[jobRun]);
  });
  onWidth(box, (width) => gantt.resize(width));
  const time = () => app.store.get("time_s");
  const place = () => app.layout.placeOfGpu[app.store.get("gpu")];
  const buttons = el(
    "div",
    { class: "bar tools", role: "group", "aria-label": "Zoom of the timeline" },
    button("Time +", () => zoomTime(gantt, 0.5, time())),
    button("Time −", () => zoomTime(gantt, 2, time())),
    button("Rows +", () => zoomRows(gantt, 0.5, place())),
    button("Rows −", () => zoomRows(gantt, 2, place())),
    button("Whole run", () => gantt.look(gantt.whole())),
    saveMenu("timeline", {
      SVG: () => saveText(`timeline ${app.run.label}.svg`, "image/svg+xml", viewSvg(app, gantt)),
      PNG: () => saveCanvas(`timeline ${app.run.label}.png`, gantt.canvas),
      CSV: () =>
        saveText(`timeline ${app.run.label}.csv`, "text/csv", csv(jobRunRows(app, gantt.view))),
    }),
  );
  const keys = el(
    "p",
    { class: "note", id: "timeline-keys" },
    "Drag to move; Ctrl and wheel to zoom, wheel alone once the timeline has the focus. Keys: arrows move the " +
      "cursor, Shift and arrows the view, + and − zoom time, . and , zoom rows, 0 shows all, Enter opens the job.",
  );
  return el("div", {}, buttons, box, keys);
}

function viewSvg(app: App, { view, classes }: Gantt): string {
  const { data, layout, run } = app;
  const title = `Jobs on GPUs under ${run.label}`;
  return timelineSvg(title, data.cluster, layout, jobRunsOf(run), view, classes, readTheme());
}

// Returns the runs of jobs in the view, with GPUs, start and end.
function jobRunRows(app: App, view: View): Cell[][] {
  const { cluster, jobs } = app.data;
  const jobRuns = jobRunsOf(app.run);
  const rows: Cell[][] = [
    ["Job", "User", "Node", "GPU type", "First GPU", "GPUs", "From, s", "To, s", "Tier"],
  ];
  for (let i = 0; i < jobRuns.count; i++) {
    const place = app.layout.placeOfGpu[jobRuns.gpu[i]];
    if (jobRuns.end[i] <= view.t0 || view.t1 <= jobRuns.begin[i]) continue;
    if (place >= view.p1 || place + jobRuns.gpus[i] <= view.p0) continue;
    const node = app.layout.nodeOfGpu[jobRuns.gpu[i]];
    rows.push([
      jobs.id[jobRuns.job[i]],
      app.user(jobs.user[jobRuns.job[i]]),
      cluster.nodes.name[node],
      cluster.gpu_types[cluster.nodes.type[node]],
      jobRuns.gpu[i] - app.layout.firstGpu[node],
      jobRuns.gpus[i],
      jobRuns.begin[i],
      jobRuns.end[i],
      TIERS[jobRuns.tier[i]],
    ]);
  }
  return rows;
}

function showTip(app: App, gantt: Gantt, tip: HTMLElement, event: PointerEvent): void {
  const jobRuns = jobRunsOf(app.run);
  const jobRun = gantt.hover ? jobRunAt(jobRuns, gantt.hover.gpu, gantt.hover.t) : -1;
  tip.hidden = jobRun < 0;
  if (jobRun < 0) return;
  const { jobs } = app.data;
  const job = jobRuns.job[jobRun];
  tip.replaceChildren(
    el("b", {}, bdi(jobs.id[job])),
    el("br"),
    bdi(app.user(jobs.user[job])),
    `, ${app.model(jobs.model[job])}, ${plural(jobs.gpus[job], "GPU")}`,
    el("br"),
    `${moment(jobRuns.begin[jobRun])} to ${moment(jobRuns.end[jobRun])}`,
  );
  const frame = gantt.canvas.getBoundingClientRect();
  const x = Math.min(event.clientX - frame.left + 14, frame.width - 200);
  tip.style.left = `${Math.max(0, x)}px`;
  tip.style.top = `${event.clientY - frame.top + 14}px`;
}

// Returns ": 12 of 64 V100, 3 of 72 K80" for a cluster with several types.
function typesText(app: App, used: Int32Array): string {
  const { cluster } = app.data;
  if (cluster.gpu_types.length < 2) return "";
  const typeOf = typeOfGpu(cluster);
  const busy = cluster.gpu_types.map(() => 0);
  used.forEach((jobRun, gpu) => jobRun >= 0 && busy[typeOf[gpu]]++);
  const gpus = gpusOfTypes(cluster);
  return `: ${cluster.gpu_types.map((type, t) => `${count(busy[t])} of ${count(gpus[t])} ${type}`).join(", ")}`;
}

function mapBox(app: App, map: ClusterMap): HTMLElement {
  const summary = el("p", { class: "note" });
  app.store.watch(["time_s", "focus"], () => {
    const jobRuns = jobRunsOf(app.run);
    const all = jobRunsAt(jobRuns, app.layout.gpus, app.store.get("time_s"));
    const used = all.filter((jobRun) => jobRun >= 0);
    const jobs = new Set(Array.from(used, (jobRun) => jobRuns.job[jobRun]));
    summary.textContent =
      `At ${moment(app.store.get("time_s"))}, ${count(used.length)} of ${plural(app.layout.gpus, "GPU")} are in use, ` +
      `by ${plural(jobs.size, "job")}${typesText(app, all)}. Hollow squares are free.`;
  });
  const box = el(
    "div",
    {
      class: "canvas-box map",
      tabindex: 0,
      role: "application",
      "aria-label": "Map of the cluster: arrows move from GPU to GPU, Enter opens the job",
    },
    map.canvas,
  );
  onWidth(box, (width) => map.resize(width));
  const at = (event: MouseEvent) => {
    const frame = map.canvas.getBoundingClientRect();
    return map.gpuAt(event.clientX - frame.left, event.clientY - frame.top);
  };
  box.addEventListener("pointermove", (event) => {
    const gpu = at(event);
    if (gpu === map.hover) return;
    map.hover = gpu;
    map.redraw();
  });
  box.addEventListener("pointerleave", () => {
    map.hover = -1;
    map.redraw();
  });
  box.addEventListener("click", (event) => {
    const gpu = at(event);
    if (gpu >= 0) app.store.set({ gpu });
  });
  box.addEventListener("keydown", (event) => {
    const gpu = app.store.get("gpu");
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[
      event.key
    ];
    if (way) app.store.set({ gpu: map.neighbour(gpu, way[0], way[1]) });
    else if (event.key === "Enter") {
      const jobRun = jobRunAt(jobRunsOf(app.run), gpu, app.store.get("time_s"));
      if (jobRun >= 0) app.openJob(jobRunsOf(app.run).job[jobRun]);
    } else return;
    event.preventDefault();
  });
  return el("div", {}, summary, box);
}
