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
