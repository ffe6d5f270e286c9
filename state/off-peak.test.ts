import { expect, it } from "vitest";
import { createOffPeak } from "./off-peak.ts";

const signal = new AbortController().signal;
/** Every look at the load takes a second. */
function setUp(loads: number[], mostMs = 60_000) {
  let looks = 0;
  const waits: boolean[] = [];
  const gate = createOffPeak({
    load: () => loads[Math.min(looks++, loads.length - 1)]!,
    now: () => looks * 1_000,
    ...{ limit: 0.5, mostMs, everyMs: 1, onWait: (wait) => void waits.push(wait) },
  });
  return { gate, waits };
}

it("passes at once while the arms are idle, and at the limit itself", async () => {
  const { gate, waits } = setUp([0.2, 0.5]);
  expect([await gate.pass(signal), await gate.pass(signal)]).toEqual([true, true]);
  expect(waits).toEqual([]);
  expect(gate.waitedMs()).toBe(0);
});

it("waits until the load has fallen, says when, and counts it", async () => {
  const { gate, waits } = setUp([0.9, 0.9, 0.8, 0.7, 0.3, 0.3]);
  expect(await gate.pass(signal)).toBe(true);
  expect(waits).toEqual([true, false]);
  expect(gate.waitedMs()).toBeGreaterThan(0);
});

it("gives up when all its waits were too long, and then without another", async () => {
  const { gate, waits } = setUp([0.9], 20_000);
  expect([await gate.pass(signal), await gate.pass(signal)]).toEqual([false, false]);
  expect(waits).toEqual([true, false]);
  expect(gate.waitedMs()).toBeGreaterThanOrEqual(20_000);
});

it("rejects for a caller whose signal is aborted", async () => {
  const { gate } = setUp([0.9]);
  const stop = new AbortController();
  const waiting = gate.pass(stop.signal);
  stop.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow();
  await expect(gate.pass(stop.signal)).rejects.toThrow("enough");
});
