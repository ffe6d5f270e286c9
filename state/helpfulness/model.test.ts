import { pino } from "pino";
import { expect, it, vi } from "vitest";
import { HELPFULNESS_FEATURES, HELPFULNESS_FEATURE_VERSION } from "../../algorithms/selection/helpfulness-features.ts";
import type { HelpfulnessModel } from "../../connections/helpfulness/port.ts";
import { encodeHelpfulnessBody, HELPFULNESS, HELPFULNESS_KIND } from "../policies/helpfulness.ts";
import { createMetricsRegistry } from "../../runtime/metrics/stage.ts";
import { createPolicyMetrics } from "../policies/metrics.ts";
import type { Policy } from "../../schemas/types.ts";
import { createModelHolder, type ModelHolderDependencies } from "./model.ts";

type ModelHolder = ReturnType<typeof createModelHolder>;

const row = new Float32Array(HELPFULNESS_FEATURES);

const policy = (version: number, more: Partial<Policy> = {}): Policy => ({
  name: HELPFULNESS,
  tenant: "default",
  version,
  kind: HELPFULNESS_KIND,
  ...encodeHelpfulnessBody(Uint8Array.of(version)),
  reference: null,
  featureVersion: HELPFULNESS_FEATURE_VERSION,
  trainedThrough: null,
  metrics: {},
  revertOf: null,
  createdAt: 0,
  ...more,
});

/**
 * Models that say `value` of every row; `gates` hold a version's loading up, `calls` its answers.
 */
function setUp(over: Partial<ModelHolderDependencies> = {}) {
  const closed: number[] = [];
  const loaded: number[] = [];
  const values = new Map<number, number>();
  const gates = new Map<number, Promise<void>>();
  const calls = new Map<number, Promise<void>>();
  const registry = createMetricsRegistry();
  const holder = createModelHolder({
    async load({ bytes, version }): Promise<HelpfulnessModel> {
      expect([...bytes]).toEqual([version]);
      await gates.get(version);
      loaded.push(version);
      return {
        version,
        async score(features) {
          if (features.length === HELPFULNESS_FEATURES) await calls.get(version);
          return new Float32Array(features.length / HELPFULNESS_FEATURES).fill(values.get(version) ?? 0.5);
        },
        close: () => Promise.resolve(void closed.push(version)),
      };
    },
    metrics: createPolicyMetrics(registry),
    log: pino({ level: "silent" }),
    graceMs: 0,
    ...over,
  });
  const figure = async (name: string): Promise<number | undefined> =>
    (await registry.getSingleMetric(name)?.get())?.values[0]?.value;
  return {
    holder,
    closed,
    loaded,
    values,
    gates,
    calls,
    inForce: () => figure("precedent_policy_version"),
    refused: () => figure("precedent_policy_refused"),
  };
}

async function apply(holder: ModelHolder, ...records: Policy[]): Promise<void> {
  for (const record of records) holder.apply(record);
  await holder.settled();
}
/** A promise and what resolves it. */
function gate(): { promise: Promise<void>; open: () => void } {
  let open = (): void => undefined;
  const promise = new Promise<void>((resolve) => (open = resolve));
  return { promise, open };
}

it("a new version replaces the old one, which is closed", async () => {
  const { holder, closed, inForce } = setUp();
  expect(holder.current()).toBeNull();
  await apply(holder, policy(1));
  expect(holder.current()?.version).toBe(1);
  await apply(holder, policy(2), policy(1));
  expect(holder.current()?.version).toBe(2);
  expect(await inForce()).toBe(2);
  await vi.waitFor(() => expect(closed).toEqual([1]));
  await holder.close();
  expect(closed).toEqual([1, 2]);
  expect(holder.current()).toBeNull();
});

it("the old one serves while the new one loads, and is closed only when its calls are done", async () => {
  const { holder, closed, gates, calls } = setUp();
  await apply(holder, policy(1));
  const loading = gate();
  const call = gate();
  gates.set(2, loading.promise);
  calls.set(1, call.promise);
  holder.apply(policy(2));
  const old = holder.current();
  expect(old?.version).toBe(1);
  const answer = old?.score(row);
  loading.open();
  await holder.settled();
  expect(holder.current()?.version).toBe(2);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(closed).toEqual([]);
  call.open();
  expect([...((await answer) ?? [])]).toEqual([0.5]);
  await vi.waitFor(() => expect(closed).toEqual([1]));
  await holder.close();
});

it("a caller that took the old model before the swap can still ask it", async () => {
  const { holder, closed } = setUp({ graceMs: 60_000 });
  await apply(holder, policy(1));
  const old = holder.current();
  await apply(holder, policy(2));
  expect([...((await old?.score(row)) ?? [])]).toEqual([0.5]);
  expect(closed).toEqual([]);
  await holder.close();
  expect(closed.sort()).toEqual([1, 2]);
});

it("versions that came while one was loading are passed over but for the newest", async () => {
  const { holder, loaded, gates } = setUp();
  const loading = gate();
  gates.set(1, loading.promise);
  holder.apply(policy(1));
  holder.apply(policy(2));
  holder.apply(policy(3));
  loading.open();
  await holder.settled();
  expect(loaded).toEqual([1, 3]);
  expect(holder.current()?.version).toBe(3);
  await holder.close();
});

it.each<[string, Partial<Policy>, number]>([
  ["another hash", { hash: "0".repeat(64) }, 0.5],
  ["another layout of features", { featureVersion: HELPFULNESS_FEATURE_VERSION + 1 }, 0.5],
  ["another kind", { kind: "helpfulness/tree/1" }, 0.5],
  ["an answer that is NaN", {}, Number.NaN],
  ["an answer beyond 1", {}, 1.5],
])("%s: the old one stays, and the metric says so until a good one comes", async (_what, more, value) => {
  const { holder, values, closed, inForce, refused } = setUp();
  await apply(holder, policy(1));
  values.set(2, value);
  await apply(holder, policy(2, more));
  expect(holder.current()?.version).toBe(1);
  expect([await inForce(), await refused()]).toEqual([1, 1]);
  expect(closed).not.toContain(1);
  await apply(holder, policy(3));
  expect([await inForce(), await refused()]).toEqual([3, 0]);
  await holder.close();
});

it("a model that never loads is given up, and closed should it come after all", async () => {
  const { holder, gates, closed, refused } = setUp({ loadMs: 20 });
  await apply(holder, policy(1));
  const never = gate();
  gates.set(2, never.promise);
  await apply(holder, policy(2));
  expect(holder.current()?.version).toBe(1);
  expect(await refused()).toBe(1);
  never.open();
  await vi.waitFor(() => expect(closed).toEqual([2]));
  await holder.close();
});

it("a tombstone takes the helpfulness model away, and the next version counts whatever its number", async () => {
  const { holder, closed, inForce } = setUp();
  await apply(holder, policy(7));
  holder.remove();
  await holder.settled();
  expect(holder.current()).toBeNull();
  expect(await inForce()).toBe(0);
  await vi.waitFor(() => expect(closed).toEqual([7]));
  await apply(holder, policy(1));
  expect(holder.current()?.version).toBe(1);
  await holder.close();
});
