// The next time of day in a time zone. A time left out (clocks go forward) comes as much later; one
// that comes twice counts the first time. Pure.

export const weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"] as const;
export type Weekday = (typeof weekdays)[number];

export interface DailyTimes {
  /** HH:MM, 24 hours; at least one. */
  times: readonly string[];
  /** Empty: every day. */
  days: readonly Weekday[];
  timeZone: string;
}

const dayMs = 86_400_000;
export const timeOfDay = /^([01]\d|2[0-3]):[0-5]\d$/;

export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }) !== null;
  } catch {
    return false;
  }
}

/** The first of the times after `after`; milliseconds since the epoch. */
export function nextTime({ times, days, timeZone }: DailyTimes, after: number): number {
  const local = createLocal(timeZone);
  const today = Math.floor(local(after) / dayMs);
  // A week and a day hold every weekday whole; the day before, for one that is left out may come
  // on the next.
  for (let day = today - 1; day <= today + 8; day++) {
    if (days.length > 0 && !days.includes(weekdays[weekdayOf(day)]!)) continue;
    const found = times
      .map((time) => instant(local, day * dayMs + minutesOf(time) * 60_000))
      .filter((at) => at > after);
    if (found.length > 0) return Math.min(...found);
  }
  throw new Error("no time of day is given: this is a bug");
}

/** The last of the times from `since` (excluded) to `until` (included); undefined: none. */
export function lastTime(times: DailyTimes, since: number, until: number): number | undefined {
  let last: number | undefined;
  for (let at = nextTime(times, since); at <= until; at = nextTime(times, at)) last = at;
  return last;
}

const minutesOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
/** Day 0 was a Thursday. */
const weekdayOf = (day: number): number => (((day + 4) % 7) + 7) % 7;

type Local = (at: number) => number;

/** What clocks there show, as if it were UTC; whole seconds. */
function createLocal(timeZone: string): Local {
  const format = new Intl.DateTimeFormat("en-US", {
    ...{ timeZone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric" },
    ...{ hour: "numeric", minute: "numeric", second: "numeric" },
  });
  return (at) => {
    const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
    return Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second"));
  };
}

/** The first moment at which clocks show it; where they leap over it, as much later. */
function instant(local: Local, shown: number): number {
  // Offsets of a day before and after: one of them holds, and clocks change once between.
  const offsets = [shown - dayMs, shown + dayMs].map((near) => local(near) - Math.floor(near / 1_000) * 1_000);
  const candidates = offsets.map((offset) => shown - offset).sort((a, b) => a - b);
  return candidates.find((at) => local(at) === shown) ?? shown - offsets[0]!;
}
