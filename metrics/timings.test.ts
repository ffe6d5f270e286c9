import { Histogram, Registry } from "prom-client";
import { expect, test } from "vitest";
import { createTimings } from "./timings.ts";

const its = {
  name: "some_seconds",
  help: "Some.",
  labelNames: ["stage", "operator"],
  buckets: [0.001, 0.01, 1],
} as const;

/** The same observations in both. */
function both() {
  const [ours, theirs] = [new Registry(), new Registry()];
  const timings = createTimings(ours, its);
  const histogram = new Histogram({
    ...its,
    labelNames: [...its.labelNames],
    buckets: [...its.buckets],
    registers: [theirs],
  });
  const observe = (stage: string, operator: string, values: number[]): void => {
    const one = timings({ stage, operator });
    for (const value of values) {
      one(value);
      histogram.observe({ stage, operator }, value);
    }
  };
  return { ours, theirs, timings, observe };
}

test("reads like a histogram of prom-client", async () => {
  const { ours, theirs, observe } = both();
  expect(await ours.metrics()).toBe(await theirs.metrics());
  observe("plan", "embed", [0, 0.001, 0.0011, 0.5, 1, 1.1, 99]);
  observe("generate", "embed", [-1]);
  observe("plan", "embed", [0.002]);
  observe('a "quoted" \\ stage', "call", [3]);
  expect(await ours.metrics()).toBe(await theirs.metrics());
  const values = async (registry: Registry) =>
    (await registry.getMetricsAsJSON())[0]?.values.map(({ labels, value }) => ({ labels, value }));
  expect(await values(ours)).toEqual(await values(theirs));
});

test("a series that nothing was observed of is not there, and no number is no observation", async () => {
  const { ours, timings } = both();
  const one = timings({ stage: "plan", operator: "embed" });
  expect(() => one(NaN)).toThrow("some_seconds: NaN is no observation");
  expect(await ours.metrics()).not.toContain("plan");
});
