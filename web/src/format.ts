// Formats numbers for readers. A missing figure is a dash.

const NONE = "–";
const GAP = "\u00a0"; // a number and its unit stay on one line
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export function count(value: number | null): string {
  return value === null ? NONE : whole.format(value);
}

// Three significant digits below 100, whole numbers from 100.
export function number(value: number | null): string {
  if (value === null) return NONE;
  const size = Math.abs(value);
  if (size >= 99.95 || value === Math.round(value)) return whole.format(value);
  return value.toFixed(size >= 9.995 ? 1 : size >= 0.01 ? 2 : 4);
}

export function percent(fraction: number | null, digits = 1): string {
  return fraction === null ? NONE : `${(100 * fraction).toFixed(digits)}${GAP}%`;
}

export function times(value: number | null): string {
  return value === null ? NONE : `${value.toFixed(value < 10 ? 2 : 1)}${GAP}×`;
}

// At most two units: "42 s", "12 min 30 s", "3 h 05 min", "2 d 3 h".
export function duration(seconds: number | null): string {
  if (seconds === null) return NONE;
  if (seconds < 0) return `−${duration(-seconds)}`;
  if (seconds < 9.95) return `${Number(seconds.toFixed(1))}${GAP}s`;
  if (seconds < 59.5) return `${Math.round(seconds)}${GAP}s`;
  if (seconds < 3599.5) return two(Math.round(seconds), 60, "min", "s", 2);
  if (seconds < 24 * 3600 - 30) return two(Math.round(seconds / 60), 60, "h", "min", 2);
  return two(Math.round(seconds / 3600), 24, "d", "h", 1);
}

// Time 0 of the page, in seconds since 1970; null: the trace has no calendar.
let calendarStart_s: number | null = null;

// Makes moments dates in UTC from now on; null: lengths of time since the first submission.
export function setCalendar(start_s: number | null): void {
  calendarStart_s = start_s;
}

// "2026-10-01 06:00:05"
function date(seconds: number): string {
  const unix_ms = Math.floor(calendarStart_s! + seconds + 5e-4) * 1000;
  return new Date(unix_ms).toISOString().slice(0, 19).replace("T", " ");
}

// A moment, to the minute: "2026-10-01 06:00", or "1 d 11 h 36 min" without a calendar.
export function moment(seconds: number): string {
  if (calendarStart_s !== null) return date(seconds).slice(0, 16);
  const days = Math.floor(seconds / 86400);
  if (days < 1) return duration(seconds);
  const rest = two(Math.floor((seconds % 86400) / 60), 60, "h", "min", 2);
  return `${count(days)}${GAP}d${GAP}${rest}`;
}

function two(total: number, per: number, big: string, small: string, width: number): string {
  const rest = total % per;
  const first = `${whole.format(Math.floor(total / per))}${GAP}${big}`;
  return rest === 0 ? first : `${first}${GAP}${String(rest).padStart(width, "0")}${GAP}${small}`;
}

// The difference to a baseline in percent, signed; "" if it has no meaning.
export function difference(value: number | null, base: number | null): string {
  if (value === null || base === null || base === 0) return "";
  const change = (100 * (value - base)) / Math.abs(base);
  if (Math.abs(change) < 0.05) return `±0${GAP}%`;
  const digits = Math.abs(change) < 10 ? 1 : 0;
  const text = digits === 1 ? Math.abs(change).toFixed(1) : whole.format(Math.abs(change));
  return `${change < 0 ? "−" : "+"}${text}${GAP}%`;
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

const STEPS_S = [
  0.001,
  0.01,
  0.1,
  1,
  5,
  15,
  60,
  300,
  900,
  3600,
  3 * 3600,
  6 * 3600,
  12 * 3600,
  86400,
  2 * 86400,
  4 * 86400,
  7 * 86400,
  14 * 86400,
  28 * 86400,
  91 * 86400,
  364 * 86400,
];

// Returns round lengths of time in [from, to], at most `most`.
export function timeTicks(from: number, to: number, most: number): number[] {
  return ticksSince(0, from, to, most);
}

// Returns round moments in [from, to], at most `most`: round on the calendar, if there is one.
export function momentTicks(from: number, to: number, most: number): number[] {
  return ticksSince(calendarStart_s ?? 0, from, to, most);
}

function ticksSince(start: number, from: number, to: number, most: number): number[] {
  const step = STEPS_S.find((s) => (to - from) / s <= most) ?? 3640 * 86400;
  const ticks: number[] = [];
  for (let i = Math.ceil((start + from) / step); i * step - start <= to; i++)
    ticks.push(i * step - start);
  return ticks;
}

// Returns the labels of moments on an axis: the time of the day, and the day where it changes.
export function momentTickTexts(moments: number[]): string[] {
  if (calendarStart_s === null) {
    const fine = moments.length > 1 && moments[1] - moments[0] < 3600;
    return moments.map(fine ? moment : tick);
  }
  const parts = moments.map((t) => date(t).split(" "));
  const withSeconds = parts.some(([, time]) => !time.endsWith(":00"));
  const onlyDays = parts.every(([, time]) => time === "00:00:00");
  return parts.map(([day, time], i) => {
    const clock = withSeconds ? time : time.slice(0, 5);
    if (onlyDays) return day;
    return i > 0 && parts[i - 1][0] === day ? clock : `${day.slice(5)} ${clock}`;
  });
}

// Ticks of a logarithmic axis of durations.
export const LOG_TICKS_S = [
  0.1,
  1,
  10,
  60,
  600,
  3600,
  6 * 3600,
  86400,
  7 * 86400,
  30 * 86400,
  365 * 86400,
];

// A short form for axes.
export function tick(seconds: number): string {
  if (seconds === 0) return "0";
  return duration(Number(seconds.toFixed(3)));
}
