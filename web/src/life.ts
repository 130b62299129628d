// The bar of a job's life: a thin line while it waits, a bar in the colour of the tier while it
// runs, a notch at a move to other GPUs.
import { sizeCanvas } from "./canvas";
import { jobRunsOf, staysOf } from "./job_runs";
import { readTheme, tierColour } from "./palette";
import type { Run } from "./schema";

const HEIGHT = 20;
const NOTCH_PX = 4; // minimum distance of notches, so that the bar stays visible

export function drawLife(
  canvas: HTMLCanvasElement,
  width: number,
  run: Run,
  job: number,
  submit: number,
  end: number,
): void {
  const theme = readTheme();
  const pen = sizeCanvas(canvas, width, HEIGHT);
  const x = (t: number) => ((t - submit) / (end - submit)) * (width - 2);
  const stays = staysOf(jobRunsOf(run), job);
  const last = run.outcome.finish_s[job] ?? end;
  pen.fillStyle = theme.muted;
  pen.fillRect(0, HEIGHT / 2 - 0.5, x(last), 1);
  pen.fillRect(0, 4, 1, HEIGHT - 8);
  for (const stay of stays) {
    pen.fillStyle = tierColour(stay.tier);
    pen.fillRect(x(stay.begin), 3, Math.max(1, x(stay.end) - x(stay.begin)), HEIGHT - 6);
  }
  pen.fillStyle = theme.ink;
  let notch = -NOTCH_PX;
  for (const stay of stays) {
    if (!stay.moved || x(stay.begin) - notch < NOTCH_PX) continue;
    notch = x(stay.begin);
    pen.fillRect(notch, 0, 1, HEIGHT);
  }
  if (run.outcome.finish_s[job] !== null) pen.fillRect(x(last), 1, 2, HEIGHT - 2);
}
