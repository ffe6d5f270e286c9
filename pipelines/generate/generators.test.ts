// Which stages generate runs: of queued arms, of inline ones that may take over from them, and for
// what else comes to the topic of an inline arm.
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { expect, it, onTestFinished, vi } from "vitest";
import { armSchema, type ArmConfig } from "../../config/schema.ts";
import { createArms } from "../../state/arms.ts";
import { startGenerators } from "./generators.ts";
import type { Session } from "../../state/session.ts";
import type { RunningStage } from "../../runtime/running-stage.ts";
import type { StageHealth } from "../../runtime/stage-health.ts";

const arm = (name: string, dispatch: string, file = "log.jsonl"): ArmConfig =>
  armSchema.parse({ name, type: "recorded", file, dispatch });

async function setUp(arms: readonly ArmConfig[], { fallbacks = 0, quiet = 0 } = {}) {
  /** Records that stand in a work topic and are not done. */
  const left = new Map<string, number>();
  const reported: string[] = [];
  const session = {
    ...{
      arms: createArms(arms),
      config: { kafka: { prefix: "" }, limits: { deadlineMs: 60_000 }, routing: { fallbacks } },
    },
    ...{ topic: (_name: string, of: string) => of, prepareArms: () => Promise.resolve() },
    ...{ log: pino({ level: "silent" }) },
    kafka: {
      lag: (_group: string, topic: string) =>
        Promise.resolve([{ partition: 0, committed: undefined, end: left.get(topic) ?? 0, metadata: "" }]),
    },
  };
  const open = (config: ArmConfig): Promise<RunningStage> => {
    const { name } = config;
    if (config.type === "recorded" && config.file === "missing.jsonl") {
      reported.push(`fail ${name}`);
      return Promise.reject(new Error("no such file"));
    }
    reported.push(`start ${name}`);
    const stop = (): Promise<void> => Promise.resolve(void reported.push(`stop ${name}`));
    const health = (): StageHealth => ({ joined: false, partitions: 0, inFlight: 0 });
    return Promise.resolve({ name, stop, health });
  };
  const generators = await startGenerators(session as unknown as Session, open, { drain: 5, leftovers: 20, quiet });
  onTestFinished(() => generators.stop());
  const running = (): string[] => generators.stages().map(({ name }) => name);
  return { generators, left, reported, running };
}

it("starts no stage for an inline arm that takes over from none", async () => {
  const { running, reported } = await setUp([arm("queued", "queued"), arm("inline", "inline")]);
  await sleep(100);
  expect([running(), reported]).toEqual([["queued"], ["start queued"]]);
});

it("is healthy without a stage, and as its stages are otherwise", async () => {
  const inline = await setUp([arm("inline", "inline")]);
  expect(inline.generators.reports()).toEqual({ generate: { joined: true, partitions: 0, inFlight: 0 } });
  const queued = await setUp([arm("queued", "queued")]);
  expect(queued.generators.reports()).toEqual({ queued: { joined: false, partitions: 0, inFlight: 0 } });
});

it("finishes what an inline arm has left in its work topic, whenever it comes there", async () => {
  const { left, running, reported } = await setUp([arm("inline", "inline")]);
  await sleep(50);
  left.set("inline", 3);
  await vi.waitFor(() => expect(running()).toEqual(["inline"]));
  await sleep(100);
  left.delete("inline");
  await vi.waitFor(() => expect(running()).toEqual([]));
  await sleep(50);
  expect(reported).toEqual(["start inline", "stop inline"]);
});

it("waits a while for more before it ends the stage of an inline arm", async () => {
  const { left, running, reported } = await setUp([arm("inline", "inline")], { quiet: 400 });
  left.set("inline", 1);
  await vi.waitFor(() => expect(running()).toEqual(["inline"]));
  for (let i = 0; i < 3; i++) {
    left.delete("inline");
    await sleep(150);
    left.set("inline", 1);
    await sleep(150);
  }
  left.delete("inline");
  await vi.waitFor(() => expect(running()).toEqual([]));
  expect(reported).toEqual(["start inline", "stop inline"]);
});

it("an inline arm stands by as long as another one is queued that it may take over from", async () => {
  const { generators, running, reported } = await setUp([arm("a", "queued"), arm("b", "inline")], { fallbacks: 1 });
  await vi.waitFor(() => expect(running()).toEqual(["a", "b"]));
  await generators.replace([arm("a", "queued", "other.jsonl"), arm("b", "inline")]);
  await sleep(50);
  expect(reported.filter((what) => what.endsWith("b"))).toEqual(["start b"]);
  await generators.replace([arm("a", "queued", "other.jsonl"), arm("b", "inline", "other.jsonl")]);
  await vi.waitFor(() =>
    expect(reported.filter((what) => what.endsWith("b"))).toEqual(["start b", "stop b", "start b"]),
  );
  await generators.replace([arm("a", "inline"), arm("b", "inline", "other.jsonl")]);
  await vi.waitFor(() => expect(running()).toEqual([]));
  await generators.replace([arm("a", "inline"), arm("b", "queued")]);
  await vi.waitFor(() => expect(running().sort()).toEqual(["a", "b"]));
});

it("an arm that becomes inline finishes its work first; back again it is a new stage that stays", async () => {
  const { generators, left, running, reported } = await setUp([arm("a", "queued")]);
  left.set("a", 1);
  await generators.replace([arm("a", "inline")]);
  await sleep(50);
  expect([running(), reported]).toEqual([["a"], ["start a"]]);
  await generators.replace([arm("a", "queued")]);
  left.delete("a");
  await sleep(100);
  expect([running(), reported]).toEqual([["a"], ["start a", "stop a", "start a"]]);
  await generators.replace([arm("a", "inline")]);
  await vi.waitFor(() => expect(running()).toEqual([]));
});

it("a change that can't be made leaves every arm as it was", async () => {
  const { generators, running, reported } = await setUp([arm("a", "queued"), arm("b", "queued"), arm("c", "inline")]);
  const before = reported.length;
  const next = [
    arm("a", "queued", "other.jsonl"),
    arm("b", "queued", "missing.jsonl"),
    arm("c", "inline"),
    arm("d", "queued"),
  ];
  await expect(generators.replace(next)).rejects.toThrow("no such file");
  expect(running().sort()).toEqual(["a", "b"]);
  // a is again the one in force: the new one was stopped for it.
  expect(reported.slice(before).filter((what) => what.endsWith("a"))).toEqual([
    "stop a",
    "start a",
    "stop a",
    "start a",
  ]);
  expect(reported.slice(before).filter((what) => what.endsWith("b"))).toEqual(["stop b", "fail b", "start b"]);
  expect(reported.slice(before).filter((what) => what.endsWith("d"))).toEqual(["start d", "stop d"]);
});
