import { expect, test } from "vitest";
import { lookAnywayMs } from "../row-counts.ts";
import type { Progress } from "./aggregate.ts";
import { aggregateWhenChanged } from "./when-changed.ts";

function setUp() {
  const state = {
    counts: { feedback: 0, withdrawals: 0, decisions: 0, responses: 0 },
    now: 0,
    progress: { rows: 1, buckets: 0, more: false } as Progress,
    times: 0,
    fails: false,
  };
  const { advance } = aggregateWhenChanged({
    counts: () => Promise.resolve(state.counts),
    clock: () => state.now,
    lateMs: 10_000,
    aggregate: {
      advance: () => {
        state.times++;
        return state.fails ? Promise.reject(new Error("away")) : Promise.resolve(state.progress);
      },
      statistics: () => Promise.resolve([]),
      domains: () => Promise.resolve([]),
      pairs: () => Promise.resolve([]),
    },
  });
  return { state, advance };
}

test("takes feedback in at once; decisions and responses a while later; nothing while nothing comes", async () => {
  const { state, advance } = setUp();
  expect(await advance()).toEqual(state.progress);
  expect(await advance()).toEqual({ rows: 0, buckets: 0, more: false });
  state.counts = { ...state.counts, feedback: 1 };
  expect(await advance()).toEqual(state.progress);
  expect(state.times).toBe(2);
  state.counts = { ...state.counts, withdrawals: 1 };
  expect(await advance()).toEqual(state.progress);
  expect(state.times).toBe(3);
  for (const table of ["decisions", "responses"]) {
    state.counts = { ...state.counts, [table]: 5 };
    const before = state.times;
    await advance();
    expect(state.times).toBe(before);
    state.now += 10_000;
    await advance();
    expect(state.times).toBe(before + 1);
  }
  // Counts may be the same though rows came.
  state.now += lookAnywayMs;
  await advance();
  expect(state.times).toBe(6);
});

test("goes on at every pass while there is more, or a pass failed", async () => {
  const { state, advance } = setUp();
  state.progress = { rows: 9, buckets: 1, more: true };
  await advance();
  await advance();
  expect(state.times).toBe(2);
  state.progress = { ...state.progress, more: false };
  state.fails = true;
  await expect(advance()).rejects.toThrow("away");
  state.fails = false;
  await advance();
  await advance();
  expect(state.times).toBe(4);
});
