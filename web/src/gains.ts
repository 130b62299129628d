// The gains of users by trading: measured against the same run without trading if the report has one,
// else against the user's entitlement without trading.
import type { App } from "./app";
import { bdi, el, scroller, table } from "./dom";
import { difference, duration, percent } from "./format";
import { lineColour } from "./palette";
import type { ReportData, Run, Summary } from "./schema";

type User = Summary["users"][number];

// Returns the run that differs from `run` only in having no trading; null if there is none.
export function withoutTrading(data: ReportData, run: Run): Run | null {
  const rest = ({ summary }: Run) =>
    JSON.stringify([
      summary.policy,
      summary.seed,
      summary.settings ?? {},
      summary.options.split(",").filter((option) => !option.startsWith("trade=")),
    ]);
  const trades = (r: Run) => r.summary.options.split(",").includes("trade=true");
  const none = (r: Run) => r.summary.options.split(",").includes("trade=false");
  if (!trades(run)) return null;
  return data.runs.find((other) => none(other) && rest(other) === rest(run)) ?? null;
}

// Returns the worth of the user's GPUs to it in contended time, divided by the worth of its part of every
// GPU type. Null if the summary has no value.
export function worth(user: User | undefined): number | null {
  const due = user?.contended_entitled_gpu_hours;
  if (user?.contended_effective_gpu_hours === undefined || !due) return null;
  return user.contended_effective_gpu_hours / due;
}

interface Row {
  user: User;
  without: User | undefined;
  worth: number | null;
  gain: number | null; // points of worth
}

export function gains(app: App, traders: Set<string>): HTMLElement[] {
  const other = withoutTrading(app.data, app.run);
  const rows = app.run.summary.users
    .filter(({ user }) => traders.has(user))
    .map((user): Row => {
      const without = other?.summary.users.find((row) => row.user === user.user);
      const [mine, base] = [worth(user), other ? worth(without) : 1];
      return {
        user,
        without,
        worth: mine,
        gain: mine === null || base === null ? null : mine - base,
      };
    })
    .sort((a, b) => (b.gain ?? 0) - (a.gain ?? 0));
  const most = Math.max(1e-9, ...rows.map((row) => Math.abs(row.gain ?? 0)));
  const points = (gain: number | null) =>
    gain === null ? "–" : `${gain < 0 ? "−" : "+"}${(100 * Math.abs(gain)).toFixed(1)} points`;
  const jct = (user: User | undefined) => user?.jct_avg_s ?? null;
  const body = table<Row>(
    other
      ? "Users who traded, with and without trading"
      : "Users who traded, against their entitlement",
    [
      { title: "User", text: true, cell: (row) => bdi(row.user.user) },
      { title: "Worth / entitlement", cell: (row) => percent(row.worth) },
      ...(other
        ? [{ title: "without trading", cell: (row: Row) => percent(worth(row.without)) }]
        : []),
      { title: other ? "Gained" : "Difference", cell: (row) => points(row.gain) },
      { title: "", text: true, cell: (row) => gainBar((row.gain ?? 0) / most) },
      { title: "Mean JCT", cell: (row) => duration(jct(row.user)) },
      ...(other
        ? [
            { title: "without", cell: (row: Row) => duration(jct(row.without)) },
            { title: "change", cell: (row: Row) => difference(jct(row.user), jct(row.without)) },
          ]
        : []),
    ],
    rows,
  );
  return [
    el("h3", {}, other ? "Measured gains" : "Worth of the users' GPUs"),
    el("p", { class: "finding" }, ...found(app, other, rows)),
    scroller("Gains", body),
    el("p", { class: "note" }, other ? MEASURED : ESTIMATED),
  ];
}

const WORTH =
  "Worth: the work of the user's GPUs for its own jobs while GPUs were scarce, with each type at the speed of these " +
  "jobs; 100 % is its part of every type, computing all the time. ";
const MEASURED = `${WORTH}Without: the run of this report that differs only in having no trading.`;
const ESTIMATED =
  `${WORTH}This does not measure trading: overheads, lost turns and gangs that span nodes reduce it too. ` +
  "To measure trading, add a run of the same policy with trade=false to the report.";

function found(app: App, other: Run | null, rows: Row[]): (Node | string)[] {
  const better = rows.filter((row) => (row.gain ?? 0) > 0).length;
  const many = `${better} of the ${rows.length} users who traded`;
  return other
    ? ["Against ", bdi(other.label), `, ${many} got more from their share.`]
    : [
        `Under `,
        bdi(app.run.label),
        ` ${many} got more than their part of every type would be worth to them.`,
      ];
}

// A bar from the middle: to the right for a gain, to the left for a loss.
function gainBar(part: number): HTMLElement {
  const bar = el("div", { class: "gain", "aria-hidden": "true" });
  const fill = el("span");
  fill.style.width = `${50 * Math.abs(part)}%`;
  fill.style.left = `${part < 0 ? 50 + 50 * part : 50}%`;
  fill.style.background = lineColour(part < 0 ? 1 : 0);
  bar.append(fill);
  return bar;
}
