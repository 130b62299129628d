// Reads the data that is embedded in the page.
import type { EmbeddedJobRuns, JobRuns, ReportData } from "./schema";

// Returns the data of a report from base64(gzip(JSON)). Throws an Error with the cause.
export async function decode(base64: string): Promise<ReportData> {
  const text = base64.trim();
  if (text === "" || text.startsWith("__")) throw new Error("This page has no data.");
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const data = (await new Response(stream).json()) as ReportData;
  if (data.version !== 2)
    throw new Error(`This page cannot read version ${data.version} of the data.`);
  if (data.runs.length === 0) throw new Error("The report has no runs.");
  // Folders written by earlier versions do not count placements.
  for (const { summary } of data.runs) summary.placements ??= {};
  for (const run of data.runs) run.holds = unpacked(run.holds as unknown as EmbeddedJobRuns);
  return data;
}

// Returns the first submission in seconds since 1970; null: the trace has no calendar.
export function calendarStart({ runs, first_submit_s }: ReportData): number | null {
  const start = runs[0].summary.assumed?.starts_at;
  return start ? Date.parse(start) / 1000 + (first_submit_s ?? 0) : null;
}

// Sums are in whole milliseconds, so that errors do not grow along a column.
function unpacked(embedded: EmbeddedJobRuns): JobRuns {
  const { job_step, begin_step_s, for_s, ...rest } = embedded;
  let job = 0;
  let begin = 0;
  const jobs = job_step.map((step) => (job += step));
  const begins = begin_step_s.map((step) => (begin += Math.round(step * 1000)));
  return {
    ...rest,
    job: jobs,
    begin_s: begins.map((ms) => ms / 1000),
    end_s: begins.map((ms, i) => (ms + Math.round(for_s[i] * 1000)) / 1000),
  };
}
