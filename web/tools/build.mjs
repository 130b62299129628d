// Builds report.html: one file with all script and style inside, and the place for the data.
//
//   npm run build -- [--outdir DIR]      default: dist
//
// Type errors fail the build. The content security policy names the hashes of the one script and
// the one style, so nothing else on the page can run, whatever the data contains.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import * as esbuild from "esbuild";

const web = dirname(dirname(fileURLToPath(import.meta.url)));
const placeholder = "__FAIRLEAD_REPORT_DATA__";

function checkTypes() {
  const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
  const { status } = spawnSync(process.execPath, [tsc, "--noEmit", "-p", web], {
    stdio: "inherit",
  });
  if (status !== 0) process.exit(1);
}

async function bundle(entry) {
  const result = await esbuild.build({
    entryPoints: [join(web, entry)],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
  });
  return result.outputFiles[0].text.trim();
}

const sha256 = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

function replaceOnce(page, mark, text) {
  const parts = page.split(mark);
  if (parts.length !== 2) throw new Error(`${mark} stands ${parts.length - 1} times in page.html`);
  return parts.join(text);
}

const { values } = parseArgs({
  options: { outdir: { type: "string", default: join(web, "dist") } },
});
checkTypes();
// The licence of the one library must be included with copies of it.
const notice = "/* uPlot (c) 2025 Leon Sorokin, MIT licence, github.com/leeoniya/uPlot */\n";
const script = notice + (await bundle("src/main.ts"));
const style = await bundle("src/theme.css");
let page = readFileSync(join(web, "src/page.html"), "utf8");
page = replaceOnce(page, "__SCRIPT_HASH__", sha256(script));
page = replaceOnce(page, "__STYLE_HASH__", sha256(style));
page = replaceOnce(page, "__STYLE__", style);
page = replaceOnce(page, "__SCRIPT__", script);
if (page.split(placeholder).length !== 2) throw new Error(`${placeholder} must stand exactly once`);

const outdir = resolve(values.outdir);
mkdirSync(outdir, { recursive: true });
writeFileSync(join(outdir, "report.html.part"), page);
renameSync(join(outdir, "report.html.part"), join(outdir, "report.html"));
