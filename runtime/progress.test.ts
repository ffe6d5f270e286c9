// When a stage counts as stalled: fakes for the partitions and the broker, and a clock that the
// test moves.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { PartitionEnds } from "../connections/kafka/port.ts";
import { partitionWith, silent, at, finish } from "./doubles.testing.ts";
import type { PartitionState } from "./partition.ts";
import { progressOf, watchProgress } from "./progress.ts";

beforeEach(() => void vi.useFakeTimers({ now: 1_700_000_000_000 }));
afterEach(() => void vi.useRealTimers());

function setUp(states: PartitionState[], assigned = states.map(({ partition }) => partition)) {
  const broker: { ends: PartitionEnds[] | Error } = { ends: [] };
  const progress = watchProgress({
    assigned: () => assigned.map((partition) => at(partition)),
    progress(_topic, partition) {
      const state = states.find((held) => held.partition === partition);
      return state && progressOf(state);
    },
    ends: () => (broker.ends instanceof Error ? Promise.reject(broker.ends) : Promise.resolve(broker.ends)),
    stalledAfterMs: 10_000,
    slowestMs: 120_000,
    log: silent,
  });
  const after = async (seconds: number): Promise<string[]> => {
    await vi.advanceTimersByTimeAsync(1_000 * seconds);
    return progress.problems();
  };
  return { progress, broker, states, after };
}
const begin = (state: PartitionState): void => {
  for (const entry of state.window.entries()) entry.state = "running";
};

test("idle partitions are no stall, however long", async () => {
  const { progress, after } = setUp([partitionWith(0, [], [])]);
  expect(await after(10_000)).toEqual([]);
  expect(progress.stalledMs()).toBe(0);
});

test("a partition that is assigned and not adopted is, and says which and since when", async () => {
  const { after, states, progress } = setUp([partitionWith(0, [], [])], [0, 3]);
  expect(await after(9)).toEqual([]);
  expect(await after(5)).toEqual([
    expect.stringMatching(/^in\/3: no progress for 13 s \(since 2023-11-14T22:13:21.*position can't be read/),
  ]);
  expect(progress.stalledMs()).toBe(13_000);
  states.push(partitionWith(3, [], []));
  expect(await after(1)).toEqual([]);
});

test("records that are finished must be committed, whatever else comes in meanwhile", async () => {
  const state = partitionWith(0, [0, 1], [0, 1]);
  const { after } = setUp([state]);
  await after(8);
  state.window.advanceTo(50);
  expect(await after(5)).toEqual([expect.stringMatching(/^in\/0: .*can't be committed/)]);
  state.window.commit(state.window.entries());
  state.committed = 2;
  expect(await after(1)).toEqual([]);
});

test("one that goes on committing has no stall", async () => {
  const state = partitionWith(0, [0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3, 4, 5, 6, 7]);
  const { after } = setUp([state]);
  for (const entry of [...state.window.entries()]) {
    expect(await after(6)).toEqual([]);
    state.window.commit([entry]);
    state.committed++;
  }
  expect(await after(60)).toEqual([]);
});

test("waiting for an answer is legal as long as a request may take, and what waits for a slot meanwhile, too", async () => {
  const state = partitionWith(0, [0], []);
  begin(state);
  const { after, progress } = setUp([state, partitionWith(1, [0, 1], [])]);
  expect(await after(125)).toEqual([]);
  expect(progress.stalledMs()).toBeLessThan(10_000);
  expect(await after(10)).toEqual([expect.stringMatching(/^in\/0: .*longer than any request/)]);
  finish(state, 0);
  // Now nothing is under way, and still nothing of the other is begun.
  expect(await after(20)).toEqual([
    expect.stringMatching(/^in\/0: .*can't be committed/),
    expect.stringMatching(/^in\/1: .*none is begun/),
  ]);
});

test("records that stay in the broker, or behind an open transaction there, are told apart", async () => {
  const { after, broker } = setUp([partitionWith(0, [], []), partitionWith(1, [], [])]);
  broker.ends = [
    { partition: 0, stable: 7, high: 7 },
    { partition: 1, stable: 0, high: 7 },
  ];
  expect(await after(30)).toEqual([
    expect.stringMatching(/^in\/0: .*none comes/),
    expect.stringMatching(/^in\/1: .*a transaction that is open.*precedent doctor/),
  ]);
  broker.ends = [
    { partition: 0, stable: 0, high: 0 },
    { partition: 1, stable: 0, high: 0 },
  ];
  expect(await after(5)).toEqual([]);
});

test("a transaction of a moment, at every question another, is none", async () => {
  const state = partitionWith(0, [], []);
  const { after, broker } = setUp([state]);
  for (let next = 0; next < 20; next++) {
    state.window.advanceTo(next);
    broker.ends = [{ partition: 0, stable: next, high: next + 2 }];
    expect(await after(3)).toEqual([]);
  }
});

test("a broker that does not answer is, and is healthy when it answers again", async () => {
  const { after, broker } = setUp([partitionWith(0, [], [])]);
  await after(3);
  broker.ends = new Error("refused");
  expect(await after(8)).toEqual([]);
  expect(await after(8)).toEqual([expect.stringMatching(/^no progress for 1\d s .*broker does not answer/)]);
  broker.ends = [];
  expect(await after(3)).toEqual([]);
});

test("a broker that refuses us is not said to be away: what it lacks is", async () => {
  const { after, broker } = setUp([partitionWith(0, [], [])]);
  await after(3);
  broker.ends = new Error("Not authorized to access topics");
  const [problem, ...others] = await after(16);
  expect(problem).toMatch(/^no progress for 1\d s .*: Not authorized to access topics; .*lacks an ACL/);
  expect(others).toEqual([]);
  broker.ends = new Error("refused");
  expect(await after(3)).toEqual([expect.stringContaining("broker does not answer")]);
});
