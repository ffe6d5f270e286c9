import { beforeEach, describe, expect, it } from "vitest";
import { FEATURE_COUNT, FEATURE_VERSION } from "../../algorithms/routing/features.ts";
import { packedLength } from "../../algorithms/numeric/matrix.ts";
import { decodeRouterPolicy } from "../../state/policies/router.ts";
import type { Solved } from "../learnt.ts";
import { createPublish } from "./publish.ts";
import { createPolicyTopic } from "../../state/policies/topic.testing.ts";

const solved = (value: number, rewards = Math.round(1_000 * value)): Solved => ({
  arms: new Map([
    [
      "small",
      {
        model: "m",
        count: rewards,
        mean: new Float64Array(FEATURE_COUNT).fill(value),
        factor: new Float64Array(packedLength(FEATURE_COUNT)).fill(1),
      },
    ],
  ]),
  rewards,
  trainedThrough: 7,
  metrics: { rewards },
  problems: [],
});

let now = 5;
beforeEach(() => {
  now = 5;
});

/** The topic, with the router's log and publish of each writer. */
function createTopic() {
  const { writer, records } = createPolicyTopic();
  const open = (recorded = 0, takenBack?: (since: number) => Promise<boolean>) => {
    const log = writer(["router"], recorded).of("router");
    const publish = createPublish({
      policies: log,
      featureVersion: FEATURE_VERSION,
      settleMs: 100,
      clock: () => now,
      ...(takenBack && { takenBack }),
    });
    return { log, publish };
  };
  const versions = (): [number, number | null][] => records().map(({ version, revertOf }) => [version, revertOf]);
  return { open, versions };
}

describe("publish", () => {
  it("by tenant: tells at once of another tenant or kind, not of hardly anything new", async () => {
    const { open, versions } = createTopic();
    const { publish } = open();
    const byTenant = (values: Record<string, number>): Solved => ({
      ...solved(0.5),
      arms: new Map(),
      tenants: new Map(Object.entries(values).map(([tenant, value]) => [tenant, { arms: solved(value).arms }])),
    });
    expect(await publish(solved(0.1))).toMatchObject({ outcome: "published" });
    expect(await publish(byTenant({ one: 0.1 }))).toMatchObject({ outcome: "published" });
    expect(await publish(byTenant({ one: 0.1 }))).toEqual({ outcome: "same" });
    const both = await publish(byTenant({ one: 0.1, two: 0.5 }));
    if (both.outcome !== "published") throw new Error(both.outcome);
    expect(decodeRouterPolicy(both.policy)).toMatchObject({
      tenants: new Map([
        ["one", {}],
        ["two", {}],
      ]),
    });
    expect(await publish(byTenant({ one: 0.101, two: 0.5 }))).toEqual({ outcome: "soon" });
    now += 100;
    expect(await publish(byTenant({ one: 0.101, two: 0.5 }))).toMatchObject({ outcome: "published" });
    expect(await publish(solved(0.1))).toMatchObject({ outcome: "published" });
    expect(versions()).toHaveLength(5);
  });

  it("gives versions in order, and none for what is published already or rests on too little", async () => {
    const { open, versions } = createTopic();
    const { publish } = open();
    expect(await publish(solved(0.1, 0))).toEqual({ outcome: "few" });
    const first = await publish(solved(0.1));
    expect(first).toMatchObject({
      outcome: "published",
      policy: { name: "router", version: 1, trainedThrough: 7, createdAt: 5 },
    });
    if (first.outcome !== "published") throw new Error();
    expect(decodeRouterPolicy(first.policy)).toMatchObject({
      version: 1,
      arms: solved(0.1).arms.size === 1 ? expect.any(Map) : 0,
    });
    expect(await publish(solved(0.1))).toEqual({ outcome: "same" });
    expect(await publish(solved(0.2))).toMatchObject({ policy: { version: 2 } });
    expect(versions()).toEqual([
      [1, null],
      [2, null],
    ]);
  });

  it("goes back to knowing nothing when what the newest version rests on was withdrawn, and only then", async () => {
    const { open, versions } = createTopic();
    const asked: number[] = [];
    let isTaken = false;
    const { publish } = open(0, (since) => {
      asked.push(since);
      return Promise.resolve(isTaken);
    });
    expect(await publish(solved(0.1, 0))).toEqual({ outcome: "few" });
    expect(asked).toEqual([]);
    await publish(solved(0.1));
    now += 1_000;
    expect(await publish(solved(0.1, 0))).toEqual({ outcome: "few" });
    isTaken = true;
    const made = await publish(solved(0.1, 0));
    expect(asked).toEqual([5, 5]);
    if (made.outcome !== "published") throw new Error(made.outcome);
    expect(decodeRouterPolicy(made.policy)).toMatchObject({ version: 2, trainedThrough: null, arms: new Map() });
    expect(decodeRouterPolicy(made.policy)).not.toHaveProperty("prior");
    expect(await publish(solved(0.1, 0))).toEqual({ outcome: "few" });
    expect(versions()).toHaveLength(2);
  });

  it("lets what is hardly new wait until the newest version is old enough", async () => {
    const { open, versions } = createTopic();
    const { publish } = open();
    await publish(solved(0.1, 1_000));
    expect(await publish(solved(0.1001, 1_005))).toEqual({ outcome: "soon" });
    expect(await publish(solved(0.2, 1_020))).toMatchObject({ policy: { version: 2 } });
    now += 99;
    expect(await publish(solved(0.2001, 1_021))).toEqual({ outcome: "soon" });
    now += 1;
    expect(await publish(solved(0.2001, 1_021))).toMatchObject({ policy: { version: 3 } });
    expect(versions()).toHaveLength(3);
  });

  it("goes on from what another process published, also from the recorded history of a topic made anew", async () => {
    const { open, versions } = createTopic();
    await open(41).publish(solved(0.1));
    const { publish } = open();
    expect(await publish(solved(0.1))).toEqual({ outcome: "same" });
    await publish(solved(0.2));
    expect(versions().map(([version]) => version)).toEqual([42, 43]);
  });

  it("publishes nothing once another writer has begun, and takes up its version when it comes back", async () => {
    const { open, versions } = createTopic();
    const one = open();
    await one.publish(solved(0.1));
    const other = open();
    await other.publish(solved(0.2));
    await expect(one.publish(solved(0.3))).rejects.toThrow("fenced");
    await one.publish(solved(0.3));
    expect(versions().map(([version]) => version)).toEqual([1, 2, 3]);
  });

  it("leaves a revert alone until it is resumed", async () => {
    const { open, versions } = createTopic();
    const { publish } = open();
    await publish(solved(0.1));
    await publish(solved(0.2));
    const person = open().log;
    await person.open();
    const old = person.newest();
    if (old === null) throw new Error();
    await person.append((version) => ({ ...old, version, revertOf: 1 }));
    expect(await publish(solved(0.3))).toEqual({ outcome: "paused" });
    await person.append((version) => ({ ...old, version, revertOf: null }));
    await expect(publish(solved(0.3))).rejects.toThrow("fenced");
    expect(await publish(solved(0.3))).toMatchObject({ outcome: "published" });
    expect(versions()).toEqual([
      [1, null],
      [2, null],
      [3, 1],
      [4, null],
      [5, null],
    ]);
  });

  it("sees a revert that it only learns of by becoming the writer again", async () => {
    const { open, versions } = createTopic();
    const before = open();
    await before.publish(solved(0.1));
    const person = open().log;
    await person.open();
    const old = person.newest();
    if (old === null) throw new Error();
    await person.append((version) => ({ ...old, version, revertOf: 1 }));
    // A learner of another process that has read nothing yet.
    expect(await open().publish(solved(0.3))).toEqual({ outcome: "paused" });
    expect(versions()).toHaveLength(2);
  });
});
