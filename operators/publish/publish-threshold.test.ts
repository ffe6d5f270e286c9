import { expect, it } from "vitest";
import type { Policy } from "../../schemas/types.ts";
import type { ChosenThreshold } from "../learnt.ts";
import { createPublishThreshold, thresholdInForce } from "./publish-threshold.ts";
import { createPolicyTopic } from "../../state/policies/topic.testing.ts";
import { createThresholdTable, decodeThresholdPolicy, THRESHOLD } from "../../state/policies/threshold.ts";

const chosen = (threshold: number): ChosenThreshold => ({
  threshold,
  better: 0.1,
  grid: [{ tau: threshold, requests: 300, gain: 0.7, error: 0.01 }],
});

function setUp() {
  const { writer, records } = createPolicyTopic();
  const policies = writer([THRESHOLD]).of(THRESHOLD);
  return { policies, publish: createPublishThreshold({ policies, clock: () => 5 }), records, writer };
}

it("publishes another threshold than the one in force, with what it rests on", async () => {
  const { policies, publish, records } = setUp();
  expect(thresholdInForce(policies)).toBe(0.5);
  expect(await publish(chosen(0.5))).toBeNull();
  const policy = await publish(chosen(0.4));
  expect(policy).toMatchObject({ version: 1, metrics: { threshold: 0.4, before: 0.5, requests: 300, gain: 0.7 } });
  expect(policy === null ? null : decodeThresholdPolicy(policy)).toEqual({
    threshold: 0.4,
    grid: chosen(0.4).grid,
  });
  expect(thresholdInForce(policies)).toBe(0.4);
  expect(await publish(chosen(0.4))).toBeNull();
  expect(records()).toHaveLength(1);
});

it("a revert pauses it until it is resumed", async () => {
  const { publish, records, writer } = setUp();
  const first = await publish(chosen(0.4));
  if (first === null) throw new Error("not published");
  await publish(chosen(0.45));
  const person = writer([THRESHOLD]).of(THRESHOLD);
  await person.append((version) => ({ ...first, version, revertOf: 1 }));
  expect(await publish(chosen(0.6))).toBeNull();
  await person.append((version) => ({ ...first, version, revertOf: null }));
  await expect(publish(chosen(0.6))).rejects.toThrow("fenced");
  expect(await publish(chosen(0.6))).toMatchObject({ version: 5 });
  expect(records().map(({ revertOf }) => revertOf)).toEqual([null, null, 1, null, null]);
});

it("a threshold decided about another than the one in force is not published", async () => {
  const { publish, writer, records } = setUp();
  const other = createPublishThreshold({ policies: writer([THRESHOLD]).of(THRESHOLD), clock: () => 5 });
  await other(chosen(0.4));
  expect(await publish(chosen(0.6))).toBeNull();
  expect(records()).toHaveLength(1);
});

it("a follower keeps what it has when a version is unreadable, and goes back to the initial one on a tombstone", async () => {
  const { publish } = setUp();
  const good = await publish(chosen(0.4));
  if (good === null) throw new Error("not published");
  const table = createThresholdTable();
  const after = (more: Partial<Policy>): [string | null, number] => {
    const problem = table.apply({ ...good, ...more });
    return [problem, table.current()];
  };
  expect(table.current()).toBe(0.5);
  expect(after({})).toEqual([null, 0.4]);
  expect(after({ version: 2, body: "{" })).toEqual(["threshold 2 is no JSON", 0.4]);
  expect(after({ version: 3, body: '{"threshold": 2, "grid": []}' })[0]).toContain("threshold 3: threshold: ");
  expect(after({ version: 4, kind: "threshold/2" })[0]).toContain("this process reads threshold/1");
  expect(after({ version: 2, body: '{"threshold": 0.9, "grid": []}' })).toEqual([null, 0.4]);
  expect(after({ version: 5, body: '{"threshold": 0.9, "grid": []}' })).toEqual([null, 0.9]);
  table.remove();
  expect(table.current()).toBe(0.5);
  expect(after({})).toEqual([null, 0.4]);
});
