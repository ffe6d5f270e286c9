import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isTimeZone, lastTime, nextTime, weekdays, type DailyTimes } from "./daily-times.ts";

const at = (iso: string): number => Date.parse(iso);
const next = (iso: string, schedule: Partial<DailyTimes>): string =>
  new Date(nextTime({ times: ["03:00"], days: [], timeZone: "UTC", ...schedule }, at(iso))).toISOString();

describe("times of day", () => {
  it.each<[string, string, Partial<DailyTimes>, string]>([
    ["today", "2026-11-23T02:59:59Z", {}, "2026-11-23T03:00:00.000Z"],
    ["tomorrow, when it is just that time", "2026-11-23T03:00:00Z", {}, "2026-11-24T03:00:00.000Z"],
    ["over a month's end", "2026-11-30T04:00:00Z", {}, "2026-12-01T03:00:00.000Z"],
    ["the next of several", "2026-11-23T04:00:00Z", { times: ["03:00", "13:30"] }, "2026-11-23T13:30:00.000Z"],
    ["in another zone", "2026-11-23T01:00:00Z", { timeZone: "Europe/Berlin" }, "2026-11-23T02:00:00.000Z"],
    ["on a weekday", "2026-11-23T04:00:00Z", { days: ["sunday"] }, "2026-11-29T03:00:00.000Z"],
    // 02:30 is left out on 2027-03-28, and comes twice on 2026-10-25.
    [
      "clocks go forward",
      "2027-03-28T00:00:00Z",
      { times: ["02:30"], timeZone: "Europe/Berlin" },
      "2027-03-28T01:30:00.000Z",
    ],
    [
      "clocks go back",
      "2026-10-24T12:00:00Z",
      { times: ["02:30"], timeZone: "Europe/Berlin" },
      "2026-10-25T00:30:00.000Z",
    ],
    [
      "once where they come twice",
      "2026-10-25T00:30:00Z",
      { times: ["02:30"], timeZone: "Europe/Berlin" },
      "2026-10-26T01:30:00.000Z",
    ],
  ])("%s", (_name, from, schedule, expected) => {
    expect(next(from, schedule)).toBe(expected);
  });

  it("comes later, at a time and on a day that is asked for, and none is left out between", () => {
    const zones = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia"];
    const time = fc
      .tuple(fc.nat(23), fc.nat(59))
      .map(([hour, minute]) => `${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}`);
    const schedules = fc.record({
      times: fc.array(time, { minLength: 1, maxLength: 3 }),
      days: fc.subarray([...weekdays]),
      timeZone: fc.constantFrom(...zones),
    });
    const moments = fc.integer({ min: at("2026-01-01T00:00:00Z"), max: at("2027-12-31T00:00:00Z") });
    fc.assert(
      fc.property(schedules, moments, (schedule, after) => {
        const found = nextTime(schedule, after);
        expect(found).toBeGreaterThan(after);
        expect(found - after).toBeLessThan(9 * 86_400_000);
        const shown = new Intl.DateTimeFormat("en-GB", { timeZone: schedule.timeZone, timeStyle: "short" });
        // Clocks that leap over a time show another.
        const day = 86_400_000;
        const leaps = new Set([found - day, found, found + day].map((moment) => shown.format(moment))).size > 1;
        if (!leaps) expect(schedule.times).toContain(shown.format(found));
        // The one before it is not after `after`.
        expect(lastTime(schedule, after, found)).toBe(found);
        expect(lastTime(schedule, after, found - 1)).toBeUndefined();
      }),
    );
  });

  it("knows time zones", () => {
    expect(isTimeZone("Europe/Berlin")).toBe(true);
    expect(isTimeZone("Europe/Nowhere")).toBe(false);
  });
});
