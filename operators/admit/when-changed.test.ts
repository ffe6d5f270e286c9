import { expect, test } from "vitest";
import { lookAnywayMs } from "../row-counts.ts";
import type { Candidate, CandidateBatch } from "./candidates.ts";
import { candidatesWhenChanged } from "./when-changed.ts";

const empty: CandidateBatch = { candidates: [], cursors: [], more: false };
const none = { rewards: 0, feedback: 0, withdrawals: 0, requests: 0, responses: 0, observations: 0 };

function setUp() {
  const state = { counts: none, now: 0, batch: empty, looks: 0, fails: false };
  const look = candidatesWhenChanged({
    counts: () => Promise.resolve(state.counts),
    clock: () => state.now,
    candidates: () => {
      state.looks++;
      return state.fails ? Promise.reject(new Error("away")) : Promise.resolve(state.batch);
    },
  });
  return { state, look };
}

test("looks once while no row comes, again with every new row, and now and then anyway", async () => {
  const { state, look } = setUp();
  for (let i = 0; i < 3; i++) expect(await look()).toEqual(empty);
  expect(state.looks).toBe(1);
  for (const table of Object.keys(none)) {
    state.counts = { ...state.counts, [table]: 1 };
    await look();
    await look();
  }
  expect(state.looks).toBe(7);
  state.now = lookAnywayMs;
  await look();
  expect(state.looks).toBe(8);
});

test("looks at every pass while something was found, or a look failed", async () => {
  const { state, look } = setUp();
  state.batch = { ...empty, candidates: [{} as Candidate] };
  await look();
  expect(await look()).toEqual(state.batch);
  expect(state.looks).toBe(2);
  state.batch = { ...empty, more: true };
  await look();
  await look();
  expect(state.looks).toBe(4);
  state.fails = true;
  await expect(look()).rejects.toThrow("away");
  state.fails = false;
  state.batch = empty;
  await look();
  expect(state.looks).toBe(6);
  await look();
  expect(state.looks).toBe(6);
});
