import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Load } from "../../algorithms/routing/load-bias.ts";
import { encodeFinished } from "../../runtime/finished-offsets.ts";
import type { Arm, ReplicaState } from "../../arms/arm.ts";
import { createLoadMetrics } from "./metrics.ts";
import { createReplicaMetrics } from "./replica-metrics.ts";
import { createLoadMonitor, type MonitoredArm } from "./load.ts";
import { createMetricsRegistry } from "../../runtime/metrics/stage.ts";

type LoadMonitor = ReturnType<typeof createLoadMonitor>;

const arm = (name: string, more: Partial<MonitoredArm> = {}): MonitoredArm => ({
  ...{ name, topic: `work.${name}`, group: `generate.${name}`, concurrency: 2, costlier: name !== "small" },
  ...more,
});
type Partition = { end: number; committed: number | undefined; metadata?: string };

let monitor: LoadMonitor | undefined;
let readings: Load[] = [];
beforeEach(() => {
  vi.useFakeTimers();
  readings = [];
});
afterEach(() => {
  monitor?.stop();
  vi.useRealTimers();
});

/** Topics and groups are state that the test changes; a group that is missing can't be read. */
function watch(
  arms: () => readonly MonitoredArm[],
  topics: Map<string, Partition[]>,
  members = new Map<string, number>(),
) {
  const kafka = {
    lag: (_group: string, topic: string) => {
      const partitions = topics.get(topic);
      if (partitions === undefined) return Promise.reject(new Error("the broker is away"));
      return Promise.resolve(partitions.map((one, partition) => ({ metadata: "", ...one, partition })));
    },
    members: (group: string) => Promise.resolve(members.get(group) ?? 1),
  };
  const options = { kafka, arms, now: Date.now, log: pino({ level: "silent" }) };
  monitor = createLoadMonitor({ ...options, onRead: (load) => readings.push(load) });
  return { ...monitor, after: (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1_000) };
}

it("begins with the first reading as it is where that is asked for", async () => {
  const kafka = {
    lag: () => Promise.resolve([{ partition: 0, end: 9, committed: 1, metadata: "" }]),
    members: () => Promise.resolve(1),
  };
  const options = { kafka, arms: () => [arm("small")], now: Date.now, log: pino({ level: "silent" }) };
  monitor = createLoadMonitor({ ...options, onRead: (load) => readings.push(load), fromFirst: true });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(readings[0]?.byArm.get("small")).toBe(4);
});

describe("load monitor", () => {
  it("takes what is unfinished over what an arm takes at a time, with a half-life of 10 s; L is the mean of the more expensive arms", async () => {
    const topics = new Map<string, Partition[]>([
      // 3 + 5 unfinished: offsets 4 and 6 are finished beyond the committed one; nothing was ever
      // committed of the second.
      [
        "work.small",
        [
          { end: 8, committed: 3, metadata: encodeFinished([1, 3]) },
          { end: 5, committed: undefined },
        ],
      ],
      ["work.large", [{ end: 100, committed: 96 }]],
      ["work.idle", [{ end: 7, committed: 7 }]],
    ]);
    const { load, after } = watch(() => [arm("small"), arm("large"), arm("idle")], topics);
    expect(load()).toEqual({ costlier: 0, byArm: new Map() });
    await after(11); // the first reading begins at 0
    expect(load().byArm.get("small")).toBeCloseTo(8 / 2 / 2, 9);
    expect(load().byArm.get("large")).toBeCloseTo(4 / 2 / 2, 9);
    expect(load().byArm.get("idle")).toBe(0);
    expect(load().costlier).toBeCloseTo(0.5, 9);
    await after(200);
    expect(load().byArm.get("small")).toBeCloseTo(4, 3);
    expect(load().costlier).toBeCloseTo(1, 3);
    expect(readings.at(-1)).toEqual(load());
  });

  it("counts the processes at work: members of the group, no more than there are partitions, at least the one that is expected", async () => {
    const busy: Partition[] = [
      { end: 12, committed: 0 },
      { end: 0, committed: 0 },
    ];
    const topics = new Map(["two", "many", "down"].map((name) => [`work.${name}`, busy]));
    const members = new Map([
      ...([
        ["generate.two", 2],
        ["generate.many", 9],
        ["generate.down", 0],
      ] as const),
    ]);
    const { load, after } = watch(() => [arm("two"), arm("many"), arm("down")], topics, members);
    await after(300);
    expect([...load().byArm].map(([name, value]) => [name, Math.round(value * 100) / 100])).toEqual([
      ["two", 3],
      ["many", 3],
      ["down", 6],
    ]);
  });

  it("counts the processes every 10 s", async () => {
    const topics = new Map<string, Partition[]>([
      [
        "work.large",
        [
          { end: 12, committed: 0 },
          { end: 0, committed: 0 },
        ],
      ],
    ]);
    const members = new Map([["generate.large", 1]]);
    const asked = vi.spyOn(members, "get");
    const { load, after } = watch(() => [arm("large")], topics, members);
    await after(8);
    expect(asked).toHaveBeenCalledTimes(1);
    members.set("generate.large", 2);
    await after(300);
    expect(asked.mock.calls.length).toBeLessThanOrEqual(32);
    expect(load().byArm.get("large")).toBeCloseTo(3, 3);
  });

  it("takes an inline arm's calls of all plan processes, over what these take at a time", async () => {
    // The arm's work topic does not count: here its topic and group are plan's.
    const topics = new Map<string, Partition[]>([
      [
        "requests",
        [
          { end: 900, committed: 0 },
          { end: 900, committed: 0 },
        ],
      ],
    ]);
    const inline = { topic: "requests", group: "plan", concurrency: 4, calls: () => 24 };
    const { load, after } = watch(() => [arm("large", inline)], topics, new Map([["plan", 2]]));
    await after(300);
    expect(load().byArm.get("large")).toBeCloseTo(3, 3);
    expect(load().costlier).toBeCloseTo(3, 3);
  });

  it("keeps the average of an arm that can't be read, and goes on with the others", async () => {
    const topics = new Map<string, Partition[]>([
      ["work.small", [{ end: 4, committed: 0 }]],
      ["work.large", [{ end: 4, committed: 0 }]],
    ]);
    const { load, after } = watch(() => [arm("small"), arm("large")], topics);
    await after(300);
    topics.delete("work.large");
    topics.set("work.small", [{ end: 4, committed: 4 }]);
    await after(300);
    expect(load().byArm.get("large")).toBeCloseTo(2, 3);
    expect(load().byArm.get("small")).toBeCloseTo(0, 3);
    expect(load().costlier).toBeCloseTo(2, 3);
  });

  it("takes what an arm's engine reports where that is more, and its own count while it reports nothing", async () => {
    let reported: number | undefined = 3;
    const topics = new Map<string, Partition[]>([["work.large", [{ end: 4, committed: 0 }]]]);
    const { load, after } = watch(() => [arm("large", { engine: () => reported })], topics);
    await after(300);
    expect(load().byArm.get("large")).toBeCloseTo(3, 3);
    for (reported of [0.2, undefined]) {
      await after(300);
      expect(load().byArm.get("large")).toBeCloseTo(2, 3);
    }
  });

  it("forgets an arm that was removed; a new one begins idle", async () => {
    let arms = [arm("small"), arm("large")];
    const topics = new Map<string, Partition[]>(
      ["small", "large", "new"].map((name) => [`work.${name}`, [{ end: 8, committed: 0 }]]),
    );
    const { load, after } = watch(() => arms, topics);
    await after(300);
    arms = [arm("small"), arm("new")];
    await after(1);
    expect([...load().byArm.keys()]).toEqual(["small", "new"]);
    expect(load().costlier).toBe(0);
  });
});

it("shows load, utilisation and how hard each presses; a removed arm goes", async () => {
  const registry = createMetricsRegistry();
  const pressing = { load: { threshold: 0.8 }, saturation: { threshold: 2 } };
  const metrics = createLoadMetrics(registry, pressing);
  createLoadMetrics(registry, pressing).set({ costlier: 1, byArm: new Map([["gone", 1]]) });
  metrics.set({
    costlier: 1.8,
    byArm: new Map([
      ["small", 3],
      ["large", 1.8],
    ]),
  });
  const text = await registry.metrics();
  expect(text).toContain("precedent_load 1.8");
  expect(text).toContain(`precedent_load_pressure ${Math.tanh(3)}`);
  expect(text).toContain('precedent_arm_utilisation{arm="small"} 3');
  expect(text).toContain(`precedent_arm_saturation{arm="small"} ${Math.tanh(1)}`);
  expect(text).toContain('precedent_arm_saturation{arm="large"} 0');
  expect(text).not.toContain("gone");
});

it("shows the replicas of arms that have several, or whose engine reports, until the arm is closed", async () => {
  const registry = createMetricsRegistry();
  const { watch: show } = createReplicaMetrics(registry);
  const state = { name: "http://a:8000/v1", calls: 1, load: 4, breaker: "half-open" as const, engine: undefined };
  const armOf = (name: string, ...replicas: ReplicaState[]): Arm => ({
    ...{ name, model: "m", concurrency: 1, answer: () => Promise.reject(new Error("not called")) },
    ...{ replicas: () => replicas, close: () => Promise.resolve() },
  });
  show(armOf("lonely", state));
  show(armOf("reported", { ...state, engine: { running: 1, waiting: 3, cacheUsage: null } }));
  const pair = show(armOf("pair", state, { ...state, name: "http://b:8000/v1" }));
  const text = await registry.metrics();
  expect(text).not.toContain("lonely");
  expect(text).toContain('precedent_replica_load{arm="pair",replica="http://b:8000/v1"} 4');
  expect(text).toContain('precedent_replica_breaker{arm="pair",replica="http://a:8000/v1"} 1');
  expect(text).toContain('precedent_replica_waiting{arm="reported",replica="http://a:8000/v1"} 3');
  expect(text).not.toMatch(/precedent_replica_(waiting\{arm="pair"|cache_usage\{)/);
  await pair.close();
  expect(await registry.metrics()).not.toContain('arm="pair"');
});
