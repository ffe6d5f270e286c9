// The stage's slots between flows, and what is parked outside of them. Records are named
// tenant-number; nothing ends by itself.
import { describe, expect, onTestFinished, test } from "vitest";
import type { GroupHandlers, Kafka, OutgoingMessage, RawRecord } from "../connections/kafka/port.ts";
import { createMetricsRegistry, createStageMetrics } from "./metrics/stage.ts";
import { createStage } from "./stage.ts";
import type { Process, StageOptions } from "./stage-options.ts";
import type { Slot } from "./step.ts";
import { at, fakeConsumer, fakeProducer, memberOf, rawRecord, settled, silent, valuesOf } from "./doubles.testing.ts";

interface Call {
  name: string;
  slot: Slot;
  done(): void;
}
const tenantOf = ({ value }: RawRecord): string => String(value).split("-")[0] ?? "";

async function setUp(limits: Partial<StageOptions["limits"]>, weights: Record<string, number> = {}) {
  const [consumer, producer] = [fakeConsumer(), fakeProducer()];
  let handlers: GroupHandlers | undefined;
  consumer.run = (given) => {
    handlers = given;
    return Promise.resolve();
  };
  const calls: Call[] = [];
  const process: Process = (record, _position, _signal, slot) =>
    new Promise((resolve) => {
      if (slot === undefined) throw new Error("no slot");
      const messages: OutgoingMessage[] = [{ topic: "out", key: null, value: record.value }];
      calls.push({ name: String(record.value), slot, done: () => resolve(messages) });
    });
  const kafka: Pick<Kafka, "groupConsumer" | "transactionalProducer"> = {
    groupConsumer: () => consumer,
    transactionalProducer: () => producer,
  };
  const stage = createStage({
    ...{ name: "test", group: "g", topics: ["in"], transactionalId: "g.one", instance: "one", sessionTimeoutMs: 6_000 },
    limits: { inFlight: 4, inFlightBytes: 1_000_000, drainMs: 400, ...limits },
    flowOf: tenantOf,
    weightOf: (tenant) => weights[tenant] ?? 1,
    kafka: kafka as Kafka,
    process,
    rejected: () => Promise.resolve([]),
    metrics: createStageMetrics(createMetricsRegistry(), "test"),
    log: silent,
  });
  await stage.start();
  onTestFinished(() => stage.stop());
  if (handlers === undefined) throw new Error("the stage did not run its consumer");
  const its = handlers;
  its.onJoin(memberOf(1), [at(0), at(1)]);
  await settled();
  consumer.calls.length = 0;
  const next = [0, 0];
  const deliver = (names: readonly string[], partition = 0): void => {
    const from = next[partition] ?? 0;
    next[partition] = from + names.length;
    const records = names.map((name, index) => rawRecord(from + index, name));
    void its.onBatch("in", partition, records, { from, next: from + names.length }, () => false);
  };
  const running = (): string[] => calls.map(({ name }) => name);
  const call = (name: string): Call => {
    const found = calls.find((one) => one.name === name);
    if (found === undefined) throw new Error(`${name} does not run`);
    return found;
  };
  return { stage, consumer, producer, deliver, running, call };
}
const many = (tenant: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${tenant}-${i}`);

describe("slots", () => {
  test("a tenant that floods a partition holds another's record back by no more than what it has under way", async () => {
    const { deliver, running, call, consumer } = await setUp({});
    deliver(many("loud", 1_000));
    deliver(["quiet-0", "quiet-1"]);
    expect(running()).toEqual(many("loud", 4));
    expect(consumer.calls).toEqual([]); // the flood does not stop the fetching either
    call("loud-1").done();
    await settled();
    call("loud-0").done();
    await settled();
    expect(running().slice(4)).toEqual(["quiet-0", "quiet-1"]);
    call("loud-2").done(); // both hold two now: by turns
    await settled();
    expect(running().slice(6)).toEqual(["loud-4"]);
  });

  test("alone it has every slot, in all its partitions; others get their share by weight", async () => {
    const { deliver, running, call, stage } = await setUp({ inFlight: 6 }, { heavy: 2 });
    deliver(many("light", 20));
    deliver(many("light", 20), 1);
    expect(stage.health().inFlight).toBe(6);
    deliver(many("heavy", 20));
    for (const name of running()) call(name).done();
    for (let i = 0; i < 6; i++) await settled();
    const now = running()
      .slice(6, 12)
      .map((name) => name.split("-")[0]);
    expect(now.filter((tenant) => tenant === "heavy")).toHaveLength(4);
  });

  test("a record that only waits gives its slot to the next one, and ends without it", async () => {
    const { deliver, running, call, producer, stage } = await setUp({ inFlight: 1 });
    deliver(["a-0", "b-0", "c-0"]);
    expect(call("a-0").slot.leave()).toBe(true);
    await settled();
    expect(running()).toEqual(["a-0", "b-0"]);
    expect(stage.health().inFlight).toBe(1);
    call("a-0").done();
    await settled();
    expect(valuesOf(producer.committed)).toEqual(["a-0"]);
    expect(stage.health().inFlight).toBe(1);
  });

  test("it gets its slot back in its turn", async () => {
    const { deliver, call, producer, stage } = await setUp({ inFlight: 1 });
    deliver(["a-0", "b-0"]);
    call("a-0").slot.leave();
    await settled();
    let back = false;
    const taken = call("a-0")
      .slot.take()
      .then(() => (back = true));
    await settled();
    expect(back).toBe(false);
    call("b-0").done();
    await taken;
    expect(stage.health().inFlight).toBe(1);
    call("a-0").done();
    await settled();
    expect(valuesOf(producer.committed)).toEqual(["b-0", "a-0"]);
    expect(stage.health().inFlight).toBe(0);
  });

  test("one that ended while it waited for its slot again is passed over", async () => {
    const { deliver, call, running, stage } = await setUp({ inFlight: 1 });
    deliver(["a-0", "b-0", "c-0"]);
    call("a-0").slot.leave();
    await settled();
    void call("a-0").slot.take();
    call("a-0").done();
    await settled();
    call("b-0").done();
    await settled();
    expect(running()).toEqual(["a-0", "b-0", "c-0"]);
    call("c-0").done();
    await settled();
    expect(stage.health().inFlight).toBe(0);
  });

  test("what is parked is bounded, and one tenant leaves room for the next", async () => {
    const { deliver, call, running } = await setUp({ inFlight: 2, parked: 4 });
    deliver(["a-0", "a-1", "a-2", "b-0"]);
    const left: boolean[] = [];
    for (const name of ["a-0", "a-1", "a-2", "b-0"]) {
      await settled();
      left.push(call(name).slot.leave());
    }
    expect(left).toEqual([true, true, false, true]);
    expect(running()).toHaveLength(4);
    for (const name of ["a-0", "a-1"]) call(name).done(); // and room comes back
    await settled();
    expect(call("a-2").slot.leave()).toBe(true);
  });

  const slow = { pool: "slow", bytes: 10 };
  const fast = { pool: "fast", bytes: 10 };

  test("what waits for one thing elsewhere keeps no slot from what waits for another, nor from other tenants", async () => {
    const { deliver, call, running, stage } = await setUp({ inFlight: 2, parked: 8 });
    deliver(many("a", 6));
    const left: boolean[] = [];
    for (const name of many("a", 5)) {
      left.push(call(name).slot.leave(slow));
      await settled();
    }
    // Half of the pool is full of one tenant; the one too many keeps its slot until it is refused.
    expect(left).toEqual([true, true, true, true, false]);
    expect(running()).toEqual(many("a", 6));
    expect(call("a-5").slot.leave(fast)).toBe(true);
    await settled();
    deliver(["b-0", "b-1"]);
    call("a-4").done();
    await settled();
    expect(call("b-0").slot.leave(slow)).toBe(true);
    await settled();
    expect(running().slice(6)).toEqual(["b-0", "b-1"]);
    // All that is at work elsewhere is under way: a stage that stops waits for it.
    expect(stage.health().inFlight).toBe(4 + 1 + 1 + 1);
    for (const name of ["a-0", "a-1", "a-2", "a-3", "a-5", "b-0", "b-1"]) call(name).done();
    await settled();
    expect(stage.health().inFlight).toBe(0);
  });

  test("what waits elsewhere has room of its own beside repeats, and is committed as it ends", async () => {
    const { deliver, call, producer, stage } = await setUp({ inFlight: 1, parked: 2 });
    deliver(["a-0", "a-1", "a-2"]);
    expect(call("a-0").slot.leave()).toBe(true);
    await settled();
    expect(call("a-1").slot.leave(slow)).toBe(true);
    await settled();
    expect(stage.health().inFlight).toBe(2);
    call("a-1").done();
    await settled();
    call("a-2").done();
    call("a-0").done();
    await settled();
    expect(valuesOf(producer.committed)).toEqual(["a-1", "a-0", "a-2"]);
    expect(stage.health().inFlight).toBe(0);
  });

  test("a stage that stops finishes what is at work elsewhere", async () => {
    const { deliver, call, producer, stage } = await setUp({ inFlight: 1 });
    deliver(["a-0"]);
    call("a-0").slot.leave(slow);
    await settled();
    const stopped = stage.stop();
    await settled();
    expect(valuesOf(producer.committed)).toEqual([]);
    call("a-0").done();
    await stopped;
    expect(valuesOf(producer.committed)).toEqual(["a-0"]);
  });

  test("the bytes of what waits elsewhere are bounded by what it holds; one of any size passes an empty pool", async () => {
    const { deliver, call } = await setUp({ inFlight: 100, inFlightBytes: 100 });
    deliver(["a-0", "a-1", "b-0"]);
    await settled();
    expect(call("a-0").slot.leave({ pool: "slow", bytes: 1_000 })).toBe(true);
    expect(call("b-0").slot.leave({ pool: "slow", bytes: 1 })).toBe(false);
    call("a-0").done();
    await settled();
    expect(call("b-0").slot.leave({ pool: "slow", bytes: 50 })).toBe(true);
    expect(call("a-1").slot.leave({ pool: "slow", bytes: 30 })).toBe(false);
  });

  test("what goes on elsewhere a second time has room there and none in the first pool any more", async () => {
    const { deliver, call } = await setUp({ inFlight: 100, inFlightBytes: 100 });
    deliver(["a-0", "b-0", "c-0"]);
    await settled();
    const [a, b, c] = ["a-0", "b-0", "c-0"].map((value) => call(value).slot);
    expect(a!.leave({ pool: "slow", bytes: 1_000 })).toBe(true);
    expect(b!.leave({ pool: "fast", bytes: 1_000 })).toBe(true);
    // No room there: it stays where it is.
    expect(a!.leave({ pool: "fast", bytes: 10 })).toBe(false);
    expect(c!.leave({ pool: "slow", bytes: 10 })).toBe(false);
    expect(a!.leave({ pool: "other", bytes: 1_000 })).toBe(true);
    expect(c!.leave({ pool: "slow", bytes: 10 })).toBe(true);
  });

  test("the bytes of what is parked are bounded, too", async () => {
    const { deliver, call } = await setUp({ inFlight: 100, inFlightBytes: 100 });
    deliver(["a-".padEnd(40, "x"), "a-".padEnd(41, "x")]);
    await settled();
    expect(call("a-".padEnd(40, "x")).slot.leave()).toBe(true);
    expect(call("a-".padEnd(41, "x")).slot.leave()).toBe(false);
  });
});
