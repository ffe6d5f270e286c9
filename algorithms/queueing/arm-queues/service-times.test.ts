import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { normal, splitmix64 } from "../../numeric/random.ts";
import { fitLine } from "./robust-fit.ts";
import { drawnService, fitServiceTimes, type LoggedCall, type ServiceTimes } from "./service-times.ts";

interface Truth {
  constant: number;
  computed: number;
  reused: number;
  completion: number;
}
const truth: Truth = { constant: 12, computed: 0.4, reused: 0.05, completion: 18 };

/** noise: factor on both times, drawn. */
function calls(count: number, { constant, computed, reused, completion }: Truth, noise: () => number): LoggedCall[] {
  const random = splitmix64(21);
  return Array.from({ length: count }, () => {
    const size = {
      computed: Math.ceil(30 + 900 * random()),
      reused: random() < 0.4 ? Math.ceil(1_500 * random()) : 0,
      completion: Math.ceil(5 + 300 * random() ** 2),
    };
    const firstMs = (constant + computed * size.computed + reused * size.reused) * noise();
    return { ...size, firstMs, totalMs: firstMs + completion * size.completion * noise() };
  });
}
const near = (seen: number | null, expected: number, off: number): void =>
  expect(Math.abs((seen ?? Infinity) / expected - 1), `${seen} beside ${expected}`).toBeLessThan(off);

/** Milliseconds a token and a call; null: not to be told apart from the constant. */
function ratesOf({ first, rest }: ServiceTimes) {
  const [computed = null, reused = null, completion = null] = rest.slopes;
  return {
    constantMs: rest.constant + (first?.constant ?? 0),
    prefillMsPerToken: first === null ? computed : (first.slopes[0] ?? null),
    linkedMsPerToken: first === null ? reused : (first.slopes[1] ?? null),
    decodeMsPerToken: completion,
  };
}

describe("a fit", () => {
  test("recovers the milliseconds a token exactly where nothing is spread, a worked example", () => {
    const rates = ratesOf(fitServiceTimes(calls(100, truth, () => 1))!);
    near(rates.constantMs, 12, 1e-6);
    near(rates.prefillMsPerToken, 0.4, 1e-6);
    near(rates.linkedMsPerToken, 0.05, 1e-6);
    near(rates.decodeMsPerToken, 18, 1e-6);
    // 100 computed, 200 reused, 10 answered: 12 + 40 + 10 = 62 ms, and 180 ms more.
    const fitted = fitServiceTimes(calls(100, truth, () => 1))!;
    // Drawn as a call on the line. One of few tokens is not on it: its prediction has a floor.
    const { first, rest } = fitted.ratios;
    const exact = first.findIndex((ratio, i) => Math.abs(ratio - 1) < 1e-9 && Math.abs(rest[i]! - 1) < 1e-9);
    const size = { computed: 100, reused: 200, completion: 10 };
    const said = drawnService(fitted, size, (exact + 0.5) / rest.length);
    near(said.firstMs, 62, 1e-6);
    near(said.totalMs, 242, 1e-6);
  });

  test("with times a third off either way", () => {
    const random = splitmix64(3);
    const rates = ratesOf(fitServiceTimes(calls(4_000, truth, () => Math.exp(0.3 * normal(random) - 0.045)))!);
    near(rates.prefillMsPerToken, 0.4, 0.05);
    near(rates.linkedMsPerToken, 0.05, 0.1);
    near(rates.decodeMsPerToken, 18, 0.05);
  });

  test("is not bent by one call in ten that took up to a hundred times as long; the spread keeps them", () => {
    const random = splitmix64(4);
    const heavy = (): number => (random() < 0.1 ? 3 / (0.03 + random()) : 0.95 + 0.1 * random());
    const logged = calls(3_000, truth, heavy);
    const fitted = fitServiceTimes(logged)!;
    const rates = ratesOf(fitted);
    near(rates.prefillMsPerToken, 0.4, 0.08);
    near(rates.decodeMsPerToken, 18, 0.08);
    // Least squares is far off here, so the robust fit is tested.
    const decode = logged.map(({ firstMs, totalMs }) => totalMs - firstMs!);
    const squares = decode.reduce((sum, ms, i) => sum + ms * logged[i]!.completion, 0);
    expect(squares / logged.reduce((sum, { completion }) => sum + completion ** 2, 0)).toBeGreaterThan(25);
    // Drawn times have the mean of the logged ones all the same.
    const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
    const drawn = logged.map((call) => drawnService(fitted, call, random()).totalMs);
    near(mean(drawn), mean(logged.map(({ totalMs }) => totalMs)), 0.15);
  });

  test("reports indistinguishable rates, and fits the whole call where no first token is logged", () => {
    const one = calls(200, truth, () => 1).map((call) => ({ ...call, firstMs: null }));
    const rates = ratesOf(fitServiceTimes(one)!);
    near(rates.decodeMsPerToken, 18, 1e-6);
    near(rates.prefillMsPerToken, 0.4, 1e-6);
    const same = one.map((call) => ({ ...call, computed: 100, reused: 0, totalMs: 40 + 18 * call.completion }));
    expect(ratesOf(fitServiceTimes(same)!)).toMatchObject({ prefillMsPerToken: null, linkedMsPerToken: null });
    const { firstMs, totalMs } = drawnService(fitServiceTimes(same)!, same[0]!, 0.5);
    expect(firstMs).toBe(totalMs);
    expect(fitServiceTimes(one.slice(0, 19))).toBeNull();
  });

  test("holds no slope and no constant below 0, and is finite, for any times", () => {
    const row = fc.record({
      computed: fc.integer({ min: 0, max: 5_000 }),
      reused: fc.integer({ min: 0, max: 5_000 }),
      completion: fc.integer({ min: 0, max: 5_000 }),
      firstMs: fc.option(fc.double({ min: 0, max: 1e6, noNaN: true })),
      more: fc.double({ min: 0, max: 1e6, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.array(row, { minLength: 20, maxLength: 60 }), (rows) => {
        const logged = rows.map(({ more, firstMs, ...size }) => ({ ...size, firstMs, totalMs: (firstMs ?? 0) + more }));
        const fitted = fitServiceTimes(logged)!;
        const { constantMs, ...rates } = ratesOf(fitted);
        for (const value of [constantMs, ...Object.values(rates)])
          if (value !== null) expect(value).toBeGreaterThanOrEqual(0);
        for (const call of logged) {
          const { firstMs, totalMs } = drawnService(fitted, call, 0.5);
          expect(Number.isFinite(totalMs) && firstMs >= 0 && totalMs >= firstMs - 1e-6 * totalMs).toBe(true);
        }
      }),
    );
  });

  test("scales with the unit of time", () => {
    const columns = [Float64Array.from({ length: 50 }, (_, i) => i)];
    const times = Float64Array.from({ length: 50 }, (_, i) => 7 + 3 * i + ((i * 7919) % 13) / 10);
    const one = fitLine(columns, times);
    const other = fitLine(
      columns,
      times.map((ms) => 1_000 * ms),
    );
    near(other.slopes[0]!, 1_000 * one.slopes[0]!, 1e-6);
    near(other.constant, 1_000 * one.constant, 1e-6);
  });
});
