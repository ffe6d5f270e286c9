import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { startUpkeep } from "./upkeep.ts";

it("works while there is more, waits while there is not, and gets over failures", async () => {
  const outcomes: (boolean | "fails")[] = [true, true, false, "fails", true];
  const done: (boolean | "fails" | undefined)[] = [];
  const upkeep = startUpkeep({
    busy: () => false,
    pauseMs: 1,
    work: () => {
      const next = outcomes.shift();
      done.push(next);
      if (next === "fails") return Promise.reject(new Error("no"));
      return Promise.resolve(next ?? false);
    },
  });
  while (done.length < 7) await sleep(1);
  await upkeep.close();
  expect(done.slice(0, 6)).toEqual([true, true, false, "fails", true, undefined]);
});

it("does nothing while requests are under way, and lets go when one comes", async () => {
  let busy = false;
  let started = 0;
  let interrupted = 0;
  const upkeep = startUpkeep({
    busy: () => busy,
    pauseMs: 1,
    work: (signal) =>
      new Promise((resolve) => {
        started++;
        signal.addEventListener("abort", () => {
          interrupted++;
          resolve(true);
        });
      }),
  });
  while (started === 0) await sleep(1);
  busy = true;
  upkeep.interrupt();
  await sleep(20);
  expect([started, interrupted]).toEqual([1, 1]);
  busy = false;
  while (started === 1) await sleep(1);
  await upkeep.close();
  expect([started, interrupted]).toEqual([2, 2]);
});

it("gets a tenth of the time under load, in whole pieces of any length, and is not stopped in them", async () => {
  for (const pieceMs of [100, 1_700, 40_000]) {
    let clock = 0;
    let spent = 0;
    let stopped = 0;
    const upkeep = startUpkeep({
      ...{ busy: () => true, now: () => clock, pauseMs: 0 },
      work: (signal) => {
        upkeep.interrupt();
        if (signal.aborted) stopped++;
        clock += pieceMs;
        spent += pieceMs;
        return Promise.resolve(true);
      },
    });
    for (; clock < 1_000_000; clock += 4_000) await sleep(1);
    await upkeep.close();
    expect(stopped).toBe(0);
    expect(spent / clock).toBeGreaterThan(0.06);
    expect(spent / clock).toBeLessThan(0.11 + pieceMs / clock);
  }
});

it("owes nothing for what it did while no request was there", async () => {
  let clock = 0;
  let busy = false;
  let done = 0;
  const upkeep = startUpkeep({
    ...{ busy: () => busy, pauseMs: 0, now: () => clock },
    work: () => {
      clock += 10_000;
      done++;
      return Promise.resolve(false);
    },
  });
  while (done < 5) await sleep(1);
  busy = true;
  await sleep(20);
  const before = done;
  await sleep(20);
  // No time has passed for it under load.
  expect(done).toBe(before);
  clock += 1_500;
  while (done === before) await sleep(1);
  await sleep(20);
  expect(done).toBe(before + 1);
  await upkeep.close();
});
