import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { silent } from "../../runtime/doubles.testing.ts";
import { createPartitionAssignment, type PartitionAssignmentDependencies } from "./partition-assignment.ts";

const graceMs = 1_000;

function setUp(held: Record<number, number> = {}, partitions = 4) {
  const calls: string[] = [];
  const positions = new Map(Object.entries(held).map(([partition, offset]) => [Number(partition), BigInt(offset)]));
  const ready = new Map<number, () => void>();
  let gated = false;
  let away = false;
  const follower: PartitionAssignmentDependencies["follower"] = {
    follow: (partition, from) => void calls.push(`follow ${partition} from ${from}`),
    unfollow: (partition) => void calls.push(`unfollow ${partition}`),
    position: () => 7,
    caughtUp: (partition) => (gated ? new Promise((resolve) => void ready.set(partition, resolve)) : Promise.resolve()),
  };
  const assignment = createPartitionAssignment({
    follower,
    pool: {
      position: (partition) => positions.get(partition) ?? null,
      release(partition) {
        calls.push(`release ${partition}`);
        positions.delete(partition);
        return Promise.resolve();
      },
    },
    spans: () =>
      away
        ? Promise.reject(new Error("no broker"))
        : Promise.resolve(Array.from({ length: partitions }, (_, partition) => ({ partition, beginning: 2, end: 50 }))),
    graceMs,
    log: silent,
  });
  const since = (): string[] => calls.splice(0);
  return {
    assignment,
    since,
    restore: (partition: number) => ready.get(partition)?.(),
    gate: () => void (gated = true),
    goAway: (gone: boolean) => void (away = gone),
  };
}
const settled = (ms = 0): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("global", () => {
  test("follows everything from where the pool is, adopts without more, and lets nothing go", async () => {
    const { assignment, since } = setUp({ 1: 30 });
    await assignment.start("global");
    expect(since()).toEqual(["follow 0 from 2", "follow 1 from 30", "follow 2 from 2", "follow 3 from 2"]);
    await assignment.adopt([0, 1]);
    expect(assignment.complete()).toBe(true);
    assignment.drop(1);
    await settled(2 * graceMs);
    expect(since()).toEqual([]);
  });

  test("an adoption waits for everything, and rejects while the broker is away", async () => {
    const { assignment, restore, gate, goAway } = setUp();
    gate();
    await assignment.start("global");
    const adopted = vi.fn();
    void assignment.adopt([0]).then(adopted);
    await settled();
    [0, 1, 2].forEach(restore);
    await settled();
    expect([adopted.mock.calls.length, assignment.complete()]).toEqual([0, false]);
    restore(3);
    await settled();
    expect([adopted.mock.calls.length, assignment.complete()]).toEqual([1, true]);
    goAway(true);
    await expect(assignment.adopt([1])).rejects.toThrow("no broker");
  });
});

describe("shared", () => {
  test("a position that the topic never had, or has no more, is given up and the partition read anew", async () => {
    const { assignment, since } = setUp({ 0: 51, 1: 1, 2: 50, 3: 2 });
    await assignment.start("shared");
    expect(since()).toEqual([
      "release 0",
      "follow 0 from 2",
      "release 1",
      "follow 1 from 2",
      "follow 2 from 50",
      "follow 3 from 2",
    ]);
  });

  test("begins with what the pool has; what does not come back is forgotten after the grace", async () => {
    const { assignment, since } = setUp({ 1: 30, 2: 40 });
    await assignment.start("shared");
    expect(since()).toEqual(["follow 1 from 30", "follow 2 from 40"]);
    await settled(graceMs / 2);
    await assignment.adopt([0, 1]);
    expect(since()).toEqual(["follow 0 from 2"]);
    await settled(graceMs);
    expect(since()).toEqual(["unfollow 2", "release 2"]);
    expect(assignment.complete()).toBe(false);
  });

  test("a partition that comes back within the grace stays as it is, and the grace begins anew when it goes again", async () => {
    const { assignment, since } = setUp();
    await assignment.start("shared");
    await assignment.adopt([0, 1]);
    since();
    assignment.drop(0);
    await settled(0.9 * graceMs);
    await assignment.adopt([0]);
    await settled(graceMs);
    assignment.drop(0);
    await settled(0.9 * graceMs);
    expect(since()).toEqual([]);
    await settled(0.2 * graceMs);
    expect(since()).toEqual(["unfollow 0", "release 0"]);
    await assignment.adopt([0]);
    expect(since()).toEqual(["follow 0 from 2"]);
  });

  test("where requests have more partitions than examples, one goes when the last of its requests does", async () => {
    const { assignment, since } = setUp({}, 2);
    await assignment.start("shared");
    await assignment.adopt([1, 3]);
    expect(since()).toEqual(["follow 1 from 2"]);
    assignment.drop(1);
    await settled(2 * graceMs);
    expect(since()).toEqual([]);
    assignment.drop(3);
    await settled(2 * graceMs);
    expect(since()).toEqual(["unfollow 1", "release 1"]);
  });
});

test("the mode changes while it runs, also when the broker is away at that moment", async () => {
  const { assignment, since, goAway } = setUp();
  await assignment.start("global");
  await assignment.adopt([2]);
  since();
  goAway(true);
  assignment.setMode("shared");
  await settled(graceMs);
  goAway(false);
  await settled(500);
  expect([since(), assignment.complete()]).toEqual([[], true]);
  await settled(graceMs);
  expect([since(), assignment.complete()]).toEqual([
    ["unfollow 0", "release 0", "unfollow 1", "release 1", "unfollow 3", "release 3"],
    false,
  ]);
  assignment.setMode("global");
  await settled();
  expect([since(), assignment.complete()]).toEqual([["follow 0 from 2", "follow 1 from 2", "follow 3 from 2"], true]);
});
