// GPU time received and entitled, by user.
import type { App } from "./app";
import { Chart } from "./charts";
import { sizeCanvas } from "./canvas";
import { bdi, button, el, scroller, section, table, type Column } from "./dom";
import { count, number, percent } from "./format";
import { lineColour, readTheme } from "./palette";
import type { Summary } from "./schema";
import { resample } from "./series";
import { sharesCharts } from "./shares";
import { gpusOfTypes, hoursByUserAndType } from "./types";

type UserRow = Summary["users"][number];
type GroupRow = NonNullable<Summary["groups"]>[number];
const FEW = 20;
const SPARK = { width: 150, height: 20 };

export function usersSection(app: App): HTMLElement {
  const rowOf = new Map(app.data.users.map((user, row) => [user, row]));
  const chart = new Chart("GPUs of one user, in use and entitled");
  const place = el("div");
  let all = false;
  const draw = () => {
    const rows = [...app.run.summary.users].sort((a, b) => b.gpu_hours - a.gpu_hours);
    const shown = all ? rows : rows.slice(0, FEW);
    const groups = app.run.summary.groups ?? [];
    place.replaceChildren(scroller("Users", table("Users", columns(app, rowOf), shown)));
    if (groups.length > 0)
      place.prepend(scroller("Groups", table("Groups", GROUP_COLUMNS, groups)));
    if (shown.length < rows.length) {
      const more = button(`Show all ${count(rows.length)} users`, () => {
        all = true;
        draw();
      });
      place.append(more);
    }
  };
  app.store.watch(["focus", "user", "theme"], () => {
    draw();
    drawChart(app, chart);
  });
  return section(
    "users",
    "Users",
    el("div", { class: "charts" }, ...sharesCharts(app), chart.element),
    place,
    typeTable(app),
    el(
      "p",
      { class: "note" },
      "Entitled: the user's share of the GPUs by tickets, at most the demand of its jobs. Work: GPU-hours of the " +
        "reference type. In the small pictures the area is GPUs in use, the line entitled GPUs.",
    ),
  );
}

// GPU-hours of each user on each type, if the cluster has several types.
function typeTable(app: App): HTMLElement {
  const place = el("div");
  const types = app.data.cluster.gpu_types;
  if (types.length < 2) return place;
  const gpus = gpusOfTypes(app.data.cluster);
  app.store.watch(["focus"], () => {
    const hours = hoursByUserAndType(app.data, app.run);
    const all = (user: number) => hours[user].reduce((a, b) => a + b, 0);
    const of = types.map((_, t) => hours.reduce((sum, row) => sum + row[t], 0));
    const users = hours.map((_, user) => user).filter((user) => all(user) > 0);
    users.sort((a, b) => all(b) - all(a) || a - b);
    const cell = (user: number, t: number) =>
      el(
        "span",
        {},
        number(hours[user][t]),
        el("small", {}, percent(of[t] ? hours[user][t] / of[t] : null, 0)),
      );
    const body = table<number>(
      "GPU-hours by user and GPU type",
      [
        { title: "User", text: true, cell: (user) => bdi(app.user(user)) },
        ...types.map((type, t) => ({
          title: `${type} (${count(gpus[t])})`,
          cell: (user: number) => cell(user, t),
        })),
      ],
      users.slice(0, FEW),
    );
    const left = Math.max(0, users.length - FEW);
    place.replaceChildren(
      el("h3", {}, "GPU-hours by GPU type"),
      scroller("GPU-hours by user and GPU type", body),
      el(
        "p",
        { class: "note" },
        `In percent of all GPU time used on the type.${left ? ` ${count(left)} users with less not shown.` : ""}`,
      ),
    );
  });
  return place;
}

function drawChart(app: App, chart: Chart): void {
  const { shares, load } = app.run;
  const index = Math.max(0, shares.user.indexOf(app.store.get("user")));
  if (shares.user.length === 0) {
    chart.show({
      x: [0],
      lines: [],
      format: number,
      summary: "This run has no users with tickets.",
    });
    return;
  }
  const user = app.user(shares.user[index]);
  const used = shares.held[index];
  const entitled = shares.entitled[index];
  const facts = app.run.summary.users.find((row) => row.user === user);
  const fraction =
    facts && facts.entitled_gpu_hours > 0 ? facts.gpu_hours / facts.entitled_gpu_hours : null;
  chart.show({
    x: used.map((_, i) => i * load.bin_s),
    stepped: true,
    lines: [
      { label: "in use", colour: lineColour(0), dash: [], bold: true, values: used },
      { label: "entitled", colour: lineColour(1), dash: [6, 3], bold: false, values: entitled },
    ],
    format: number,
    summary:
      `${user} under ${app.run.label} (in use: solid, entitled: dashed)` +
      (fraction === null ? "." : `: received ${percent(fraction, 0)} of its entitlement.`),
  });
}

const GROUP_COLUMNS: Column<GroupRow>[] = [
  { title: "Group", text: true, cell: (g) => bdi(g.group) },
  { title: "Tickets", cell: (g) => number(g.tickets) },
  { title: "Quota, GPUs", cell: (g) => (g.quota === null ? "none" : count(g.quota)) },
  { title: "Users", cell: (g) => count(g.users) },
  { title: "Jobs", cell: (g) => count(g.jobs) },
  { title: "GPU-hours used", cell: (g) => number(g.gpu_hours) },
  { title: "entitled", cell: (g) => number(g.entitled_gpu_hours) },
  {
    title: "used / entitled",
    cell: (g) => percent(g.entitled_gpu_hours > 0 ? g.gpu_hours / g.entitled_gpu_hours : null, 0),
  },
];

function columns(app: App, rowOf: Map<string, number>): Column<UserRow>[] {
  const { shares } = app.run;
  return [
    { title: "User", text: true, cell: (u) => userButton(app, u.user, rowOf.get(u.user) ?? -1) },
    ...(app.run.summary.groups
      ? [{ title: "Group", text: true, cell: (u: UserRow) => bdi(u.group ?? "") }]
      : []),
    { title: "Tickets", cell: (u) => number(u.tickets) },
    { title: "Jobs", cell: (u) => count(u.jobs) },
    { title: "GPU-hours used", cell: (u) => number(u.gpu_hours) },
    { title: "entitled", cell: (u) => number(u.entitled_gpu_hours) },
    {
      title: "used / entitled",
      cell: (u) => percent(u.entitled_gpu_hours > 0 ? u.gpu_hours / u.entitled_gpu_hours : null, 0),
    },
    { title: "Work, GPU-hours", cell: (u) => number(u.work_gpu_hours) },
    { title: "of contended work", cell: (u) => percent(u.throughput_share) },
    {
      title: "Over time",
      text: true,
      cell: (u) => {
        const index = shares.user.indexOf(rowOf.get(u.user) ?? -1);
        return index < 0 ? "" : spark(shares.held[index], shares.entitled[index]);
      },
    },
  ];
}

function userButton(app: App, user: string, row: number): Node {
  if (!app.run.shares.user.includes(row)) return bdi(user);
  const result = button("", () => app.store.set({ user: row }), {
    class: "quiet",
    title: "Show in the chart",
    "aria-pressed": String(app.store.get("user") === row),
  });
  result.append(bdi(user));
  return result;
}

// GPUs in use as an area, entitled GPUs as a line, on the user's own scale.
function spark(used: number[], entitled: number[]): HTMLCanvasElement {
  const canvas = el("canvas", { "aria-hidden": "true" });
  const { width, height } = SPARK;
  const pen = sizeCanvas(canvas, width, height);
  const shrink = (values: number[]) =>
    resample(values, 1, values.length / width, width).map((v) => v ?? 0);
  const lines = [shrink(used), shrink(entitled)];
  const most = Math.max(1e-9, ...lines[0], ...lines[1]);
  const trace = (values: number[]) => {
    values.forEach((v, i) => {
      pen.lineTo((i / values.length) * width, height - 1 - (v / most) * (height - 3));
      pen.lineTo(((i + 1) / values.length) * width, height - 1 - (v / most) * (height - 3));
    });
  };
  pen.fillStyle = lineColour(0);
  pen.globalAlpha = 0.55;
  pen.beginPath();
  pen.moveTo(0, height - 1);
  trace(lines[0]);
  pen.lineTo(width, height - 1);
  pen.fill();
  pen.globalAlpha = 1;
  pen.strokeStyle = lineColour(1);
  pen.beginPath();
  trace(lines[1]);
  pen.stroke();
  pen.fillStyle = readTheme().rule;
  pen.fillRect(0, height - 1, width, 1);
  return canvas;
}
