import { describe, expect, it } from "vitest";
import type { Arm, ArmRequest, ArmResult } from "../arms/arm.ts";
import { armSchema, type ArmConfig } from "../config/schema.ts";
import { createMetricsRegistry, createStageMetrics } from "../runtime/metrics/stage.ts";
import { createInlineArms } from "./inline-arms.ts";

const arm = (name: string, more: object = {}): ArmConfig =>
  armSchema.parse({ name, type: "recorded", file: "log.jsonl", dispatch: "inline", maxTokens: 256, ...more });
const failure: ArmResult = { kind: "failure", code: "not_recorded", message: "", attempts: 1, retriable: false };
const request = {} as ArmRequest;
const never = new AbortController().signal;

async function setUp(first: readonly ArmConfig[]) {
  let configured = first;
  const closed: string[] = [];
  const opened: string[] = [];
  const waiting: ((result: ArmResult) => void)[] = [];
  const registry = createMetricsRegistry();
  const arms = await createInlineArms({
    configured: () => configured,
    open: (config) => {
      const label = `${config.name}/${config.maxTokens}`;
      if (config.name === "broken") return Promise.reject(new Error("no such log"));
      opened.push(label);
      return Promise.resolve({
        ...{ name: config.name, model: "m", concurrency: 8 },
        answer: () => new Promise<ArmResult>((resolve) => waiting.push(resolve)),
        close: () => Promise.resolve(void closed.push(label)),
      } satisfies Arm);
    },
    metricsOf: (name) => createStageMetrics(registry, `generate.${name}`),
  });
  const replace = (next: readonly ArmConfig[]): Promise<void> =>
    arms.replace(next, () => Promise.resolve(void (configured = next)));
  return { arms, replace, closed, opened, waiting, registry };
}

describe("inline arms", () => {
  it("opens those that are inline, and no other", async () => {
    const { arms, opened } = await setUp([arm("one"), arm("two", { dispatch: "queued" })]);
    expect(opened).toEqual(["one/256"]);
    expect([arms.of("one") === undefined, arms.of("two"), arms.of("none")]).toEqual([false, undefined, undefined]);
    expect(arms.calls()).toEqual(new Map([["one", 0]]));
    await arms.close();
  });

  it("counts calls under way, and what they were as the stage generate would", async () => {
    const { arms, waiting, registry } = await setUp([arm("one")]);
    const calls = [arms.of("one")?.answer(request, never), arms.of("one")?.answer(request, never)];
    expect(arms.calls()).toEqual(new Map([["one", 2]]));
    for (const done of waiting) done(failure);
    for (const call of calls) await call;
    expect(arms.calls()).toEqual(new Map([["one", 0]]));
    arms.of("one")?.refused("deadline_exceeded");
    const text = await registry.metrics();
    expect(text).toContain('precedent_received_total{stage="generate.one"} 2');
    expect(text).toContain('precedent_dropped_total{stage="generate.one",reason="deadline_exceeded"} 1');
    expect(text).not.toContain("not_recorded"); // a failure is an answer
    expect(text).toContain('precedent_in_flight{stage="generate.one"} 0');
    expect(text).toMatch(/precedent_operator_seconds_count\{stage="generate.one",operator="call"\} 2/);
    await arms.close();
  });

  it("has the next arms ready before they come into force, and keeps what is the same", async () => {
    const { arms, replace, opened, closed } = await setUp([arm("one"), arm("two")]);
    const one = arms.of("one");
    await replace([arm("one"), arm("two", { maxTokens: 9 }), arm("three")]);
    expect(opened).toEqual(["one/256", "two/256", "two/9", "three/256"]);
    expect(arms.of("one")).toBe(one);
    expect(arms.of("three")).toBeDefined();
    expect(closed).toEqual([]); // a request may just be on its way to the former one
    await arms.close();
    expect(closed.sort()).toEqual(["one/256", "three/256", "two/256", "two/9"]);
  });

  it("one that was taken away still answers what is on its way to it; one that is queued now does not", async () => {
    const { arms, replace } = await setUp([arm("one"), arm("two")]);
    await replace([arm("two", { dispatch: "queued" })]);
    expect(arms.of("one")).toBeDefined();
    expect(arms.of("two")).toBeUndefined();
    await arms.close();
  });

  it("stays as it is when one can't be made, or the others don't come into force", async () => {
    const { arms, replace, closed } = await setUp([arm("one")]);
    await expect(replace([arm("two"), arm("broken")])).rejects.toThrow("no such log");
    const failing = arms.replace([arm("one"), arm("three")], () => Promise.reject(new Error("no topics")));
    await expect(failing).rejects.toThrow("no topics");
    expect(arms.of("one")).toBeDefined();
    expect(closed.sort()).toEqual(["three/256", "two/256"]);
    await arms.close();
    expect(closed).toHaveLength(3);
  });
});
