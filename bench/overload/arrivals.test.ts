import { expect, test } from "vitest";
import { arrivalsOf, parseTrace } from "./arrivals.ts";

const trace =
  "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:47.6805900,1,2\n";

test("reads Azure's times, and says which row has none", () => {
  const [first, second] = parseTrace(trace, "a.csv");
  expect(second! - first!).toBe(1_000);
  expect(() => parseTrace(`${trace}soon,1,2\n`, "a.csv")).toThrow('a.csv, row 4: "soon" is no time');
  expect(() => parseTrace("TIMESTAMP\n", "a.csv")).toThrow("at least 2");
});

test("each phase has its rate and is filled, the gaps keep their proportions", () => {
  const times = Array.from({ length: 400 }, (_, i) => 1_000 * i + (i % 2) * 500);
  const arrivals = arrivalsOf(times, [
    { name: "before", seconds: 20, rate: 5 },
    { name: "during", seconds: 10, rate: 20 },
  ]);
  const of = (name: string) => arrivals.filter(({ phase }) => phase === name).map(({ atMs }) => atMs);
  expect([of("before").length, of("during").length]).toEqual([100, 200]);
  expect([of("before")[0], of("during")[0]]).toEqual([0, 20_000]);
  expect(Math.max(...of("during"))).toBeLessThan(30_000);
  const [a, b, c] = of("before");
  expect((b! - a!) / (c! - b!)).toBeCloseTo(3, 6);
});

test("a trace shorter than the phases begins again", () => {
  expect(arrivalsOf([0, 10, 30], [{ name: "one", seconds: 10, rate: 10 }])).toHaveLength(100);
  expect(() => arrivalsOf([5, 5], [{ name: "before", seconds: 1, rate: 1 }])).toThrow("no gaps for 1 requests before");
});
