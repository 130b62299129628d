// Reads the data that the page carries.
import type { ReportData } from "./schema";

// The data of a report from base64(gzip(JSON)). Throws an Error that says what is wrong.
export async function decode(base64: string): Promise<ReportData> {
  const text = base64.trim();
  if (text === "" || text.startsWith("__")) throw new Error("This page carries no data.");
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const data = (await new Response(stream).json()) as ReportData;
  if (data.version !== 1)
    throw new Error(`This page cannot read version ${data.version} of the data.`);
  if (data.runs.length === 0) throw new Error("The report holds no run.");
  // Folders written by earlier versions do not count placements.
  for (const { summary } of data.runs) summary.placements ??= {};
  return data;
}
