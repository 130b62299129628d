// Saves files: texts, tables as CSV, and pictures. All are made in the page.
import { button, el } from "./dom";

export type Cell = string | number | null;

// RFC 4180. A text that a spreadsheet could read as a formula gets a leading '.
export function csv(rows: Cell[][]): string {
  const cell = (value: Cell) => {
    if (value === null) return "";
    if (typeof value === "number") return String(+value.toFixed(6));
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => `${row.map(cell).join()}\r\n`).join("");
}

export function saveText(name: string, type: string, text: string): void {
  save(name, new Blob([text], { type: `${type};charset=utf-8` }));
}

function save(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  el("a", { href: url, download: fileName(name) }).click();
  setTimeout(() => URL.revokeObjectURL(url), KEEP_MS);
}
const KEEP_MS = 60_000; // long enough for the browser to read it

// Keeps letters, digits and other characters that are safe in file names.
export function fileName(name: string): string {
  return name.replace(/[^\p{L}\p{N}., ()=+-]+/gu, "-").slice(-120);
}

export function saveCanvas(name: string, canvas: HTMLCanvasElement): void {
  canvas.toBlob((blob) => blob && save(name, blob), "image/png");
}

const SHARP = 2; // pixels of a saved picture per pixel of the drawing

export async function savePng(name: string, svg: string): Promise<void> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = el("canvas", { width: SHARP * image.width, height: SHARP * image.height });
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  saveCanvas(name, canvas);
}

// A small menu of ways to save the object named by `title`.
export function saveMenu(title: string, ways: Record<string, () => void>): HTMLElement {
  const buttons = Object.entries(ways).map(([way, act]) =>
    button(way, act, { class: "quiet", "aria-label": `Save as ${way}: ${title}` }),
  );
  return el(
    "details",
    { class: "save" },
    el("summary", { "aria-label": `Save: ${title}` }, "Save"),
    ...buttons,
  );
}
