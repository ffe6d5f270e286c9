import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chargedCost, costIn, dayOf, standing, startOf, windowAt } from "./spend-limit.ts";

const anyTime = fc.date({ min: new Date(0), max: new Date(Date.UTC(2100, 0)), noInvalidDate: true });
const costs = fc.array(fc.record({ day: fc.nat(400), cost: fc.nat(1_000) }));

describe("windows", () => {
  it("are days and months of UTC, whatever the zone of the machine", () => {
    const at = Date.UTC(2028, 1, 29, 23, 59, 59, 999);
    const text = (day: number) => new Date(startOf(day)).toISOString();
    const of = (period: "day" | "month", time: number) => Object.values(windowAt(period, time)).map(text);
    expect(of("day", at)).toEqual(["2028-02-29T00:00:00.000Z", "2028-03-01T00:00:00.000Z"]);
    expect(of("month", at)).toEqual(["2028-02-01T00:00:00.000Z", "2028-03-01T00:00:00.000Z"]);
    expect(of("month", at + 1)).toEqual(["2028-03-01T00:00:00.000Z", "2028-04-01T00:00:00.000Z"]);
    expect(of("month", Date.UTC(2026, 11, 31))[1]).toBe("2027-01-01T00:00:00.000Z");
  });

  it("hold the time that they are of, the day's within the month's, and follow without a gap", () => {
    fc.assert(
      fc.property(anyTime, (date) => {
        const at = date.getTime();
        const [day, month] = [windowAt("day", at), windowAt("month", at)];
        expect(day).toEqual({ first: dayOf(at), next: dayOf(at) + 1 });
        expect(month.first <= day.first && day.next <= month.next).toBe(true);
        expect(windowAt("month", startOf(month.next)).first).toBe(month.next);
        expect(windowAt("month", startOf(month.next) - 1)).toEqual(month);
      }),
    );
  });

  it("next to each other share out what was spent", () => {
    fc.assert(
      fc.property(costs, fc.nat(400), fc.nat(400), fc.nat(400), (all, ...cuts) => {
        const [first, middle, next] = cuts.toSorted((a, b) => a - b) as [number, number, number];
        const parts = costIn({ first, next: middle }, all) + costIn({ first: middle, next }, all);
        expect(parts).toBe(costIn({ first, next }, all));
      }),
    );
  });
});

describe("what is left of a spend limit", () => {
  const amount = fc.double({ min: 0.01, max: 1e6, noNaN: true });
  const count = fc.integer({ min: 0, max: 64 });
  const spent = fc.record({
    ...{ recorded: fc.nat(1_000), own: fc.nat(1_000), held: fc.nat(1_000), sharers: count, holders: count },
  });

  it("is 0 once the limit is spent, and above 0 below it without other sharers", () => {
    fc.assert(
      fc.property(amount, spent, (limit, given) => {
        const isUsedUp = given.recorded + given.own >= limit;
        expect(standing(limit, given, 1) === "used_up").toBe(isUsedUp);
        if (!isUsedUp && given.sharers <= 1 && given.held === 0) expect(standing(limit, given, 1)).toBe("left");
      }),
    );
  });

  it("is never overspent by sharers who each stop at their share, but for the last request of each", () => {
    fc.assert(
      fc.property(amount, fc.nat(1_000), fc.integer({ min: 1, max: 20 }), amount, (limit, recorded, sharers, cost) => {
        let sum = recorded;
        for (let i = 0; i < sharers; i++) {
          let own = 0;
          while (
            own < 100 * cost &&
            standing(limit, { recorded, own, held: 0, sharers, holders: sharers }, cost) === "left"
          )
            own += cost;
          sum += own;
        }
        expect(sum).toBeLessThanOrEqual(Math.max(limit, recorded) + sharers * cost * (1 + 1e-9));
      }),
    );
  });

  it("never grows as more is spent, or more is under way", () => {
    const order = ["left", "held", "share_used_up", "used_up"];
    fc.assert(
      fc.property(amount, spent, fc.nat(100), fc.nat(100), (limit, given, more, next) => {
        const before = order.indexOf(standing(limit, given, next));
        for (const later of [{ own: given.own + more }, { held: given.held + more }])
          expect(order.indexOf(standing(limit, { ...given, ...later }, next))).toBeGreaterThanOrEqual(before);
      }),
    );
  });

  it("is not overspent by those under way at all holders, but for one that is alone at each", () => {
    const holder = fc.array(amount, { maxLength: 8 });
    fc.assert(
      fc.property(amount, fc.nat(1_000), fc.array(holder, { minLength: 1, maxLength: 8 }), (limit, recorded, all) => {
        let [sum, alone] = [recorded, 0];
        for (const costs of all) {
          let held = 0;
          for (const cost of costs) {
            const given = { recorded, own: 0, held, sharers: 1, holders: all.length };
            if (standing(limit, given, cost) !== "left") continue;
            if (held === 0) alone += cost;
            held += cost;
          }
          sum += held;
        }
        expect(sum).toBeLessThanOrEqual(Math.max(limit, recorded) * (1 + 1e-9) + alone);
      }),
    );
  });

  it("is nothing where the spend limit is no number, or nothing", () => {
    for (const limit of [NaN, 0, -1])
      expect(standing(limit, { recorded: 0, own: 0, held: 0, sharers: 1, holders: 1 }, 1)).toBe("used_up");
  });
});

describe("a response is charged", () => {
  const response = { account: "prk-1", duplicate: false, cost: 0.5 };
  it("to the account that it names, once, and only what is money", () => {
    expect(chargedCost(response)).toEqual({ account: "prk-1", cost: 0.5 });
    const free = [
      { account: null },
      { account: "" },
      { duplicate: true },
      ...[0, -1, NaN, Infinity].map((cost) => ({ cost })),
    ];
    for (const change of free) expect(chargedCost({ ...response, ...change }), JSON.stringify(change)).toBeNull();
  });
});
