// Moves the timeline's view by pointer, wheel and keys.
//
// The wheel zooms only while the timeline has the focus or Ctrl is pressed, so that
// scrolling through the page does not get stuck in it.
import type { App } from "./app";
import type { Gantt } from "./gantt";
import { jobRunAt, jobRunsOf } from "./job_runs";

const CLICK_PX = 4;

export function zoomTime(gantt: Gantt, factor: number, around: number): void {
  const { view } = gantt;
  const t = Math.min(view.t1, Math.max(view.t0, around));
  gantt.look({ ...view, t0: t - (t - view.t0) * factor, t1: t + (view.t1 - t) * factor });
}

export function zoomRows(gantt: Gantt, factor: number, around: number): void {
  const { view } = gantt;
  const p = Math.min(view.p1, Math.max(view.p0, around));
  gantt.look({ ...view, p0: p - (p - view.p0) * factor, p1: p + (view.p1 - p) * factor });
}

export function listen(app: App, gantt: Gantt, box: HTMLElement): void {
  listenToPointer(app, gantt, box);
  listenToWheel(gantt, box);
  box.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (press(app, gantt, event.key, event.shiftKey)) event.preventDefault();
  });
}

function listenToPointer(app: App, gantt: Gantt, box: HTMLElement): void {
  let grip: { x: number; y: number; moved: boolean } | null = null;
  const point = (event: PointerEvent) => {
    const frame = gantt.canvas.getBoundingClientRect();
    return gantt.at(event.clientX - frame.left, event.clientY - frame.top);
  };
  box.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    grip = { x: event.clientX, y: event.clientY, moved: false };
    box.setPointerCapture(event.pointerId);
  });
  box.addEventListener("pointermove", (event) => {
    if (grip) {
      const dx = event.clientX - grip.x;
      const dy = event.clientY - grip.y;
      if (!grip.moved && Math.hypot(dx, dy) < CLICK_PX) return;
      const a = gantt.at(0, 0);
      const b = gantt.at(dx, dy);
      grip = { x: event.clientX, y: event.clientY, moved: true };
      const { t0, t1, p0, p1 } = gantt.view;
      const [t, p] = [b.t - a.t, b.place - a.place];
      gantt.look({ t0: t0 - t, t1: t1 - t, p0: p0 - p, p1: p1 - p });
      return;
    }
    const { t, place } = point(event);
    gantt.hover =
      t < gantt.view.t0 || place >= gantt.view.p1 ? null : { t, gpu: gantt.gpuAt(place) };
    gantt.redraw(false);
  });
  box.addEventListener("pointerup", (event) => {
    if (grip && !grip.moved) {
      const { t, place } = point(event);
      app.store.set({ time_s: Math.max(0, t), gpu: gantt.gpuAt(place) });
    }
    grip = null;
  });
  box.addEventListener("pointercancel", () => (grip = null));
  box.addEventListener("pointerleave", () => {
    gantt.hover = null;
    gantt.redraw(false);
  });
}

function listenToWheel(gantt: Gantt, box: HTMLElement): void {
  box.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && document.activeElement !== box) return;
      event.preventDefault();
      const frame = gantt.canvas.getBoundingClientRect();
      const { t, place } = gantt.at(event.clientX - frame.left, event.clientY - frame.top);
      const factor = Math.exp(Math.sign(event.deltaY || event.deltaX) * 0.25);
      if (event.shiftKey) zoomRows(gantt, factor, place);
      else zoomTime(gantt, factor, t);
    },
    { passive: false },
  );
}

// Arrows move the cursor, with Shift the view; + and - zoom in time, "." and "," in rows: keys that
// need no Shift on any keyboard. Returns true if the key has a meaning here.
function press(app: App, gantt: Gantt, key: string, shift: boolean): boolean {
  const { store, layout } = app;
  const { view } = gantt;
  const time = store.get("time_s");
  const place = layout.placeOfGpu[store.get("gpu")];
  const dt = (view.t1 - view.t0) / (shift ? 5 : 50);
  const dp = shift ? (view.p1 - view.p0) / 5 : Math.max(1, Math.round((view.p1 - view.p0) / 60));
  const step = { ArrowLeft: [-dt, 0], ArrowRight: [dt, 0], ArrowUp: [0, -dp], ArrowDown: [0, dp] }[
    key
  ];
  if (step) {
    if (shift) {
      const [t, p] = step;
      gantt.look({ t0: view.t0 + t, t1: view.t1 + t, p0: view.p0 + p, p1: view.p1 + p });
    } else {
      const t = Math.min(gantt.whole().t1, Math.max(0, time + step[0]));
      store.set({ time_s: t, gpu: gantt.gpuAt(place + step[1]) });
      reveal(gantt, t, layout.placeOfGpu[store.get("gpu")]);
    }
    return true;
  }
  switch (key) {
    case "+":
    case "=":
      zoomTime(gantt, 0.6, time);
      return true;
    case "-":
      zoomTime(gantt, 1 / 0.6, time);
      return true;
    case ".":
      zoomRows(gantt, 0.6, place);
      return true;
    case ",":
      zoomRows(gantt, 1 / 0.6, place);
      return true;
    case "0":
    case "Home":
      gantt.look(gantt.whole());
      return true;
    case "Enter": {
      const jobRuns = jobRunsOf(app.run);
      const jobRun = jobRunAt(jobRuns, store.get("gpu"), time);
      if (jobRun >= 0) app.openJob(jobRuns.job[jobRun]);
      return true;
    }
    default:
      return false;
  }
}

// Moves the view so that the point is in it.
export function reveal(gantt: Gantt, t: number, place: number): void {
  const { t0, t1, p0, p1 } = gantt.view;
  const dt = t < t0 ? t - t0 : t > t1 ? t - t1 : 0;
  const dp = place < p0 ? place - p0 : place + 1 > p1 ? place + 1 - p1 : 0;
  if (dt || dp) gantt.look({ t0: t0 + dt, t1: t1 + dt, p0: p0 + dp, p1: p1 + dp });
}
