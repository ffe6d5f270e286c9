import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { GroupHandlers, Kafka, OutgoingMessage, RawRecord } from "../connections/kafka/port.ts";
import { TransactionOutcomeUnknown } from "../connections/kafka/errors.ts";
import { encodeFinished } from "./finished-offsets.ts";
import { createMetricsRegistry, createStageMetrics } from "./metrics/stage.ts";
import { signalOf } from "./lazy-abort.ts";
import { createStage } from "./stage.ts";
import type { Process, StageOptions } from "./stage-options.ts";
import { at, fakeConsumer, fakeProducer, memberOf, rawRecord, settled, silent, valuesOf } from "./doubles.testing.ts";

interface Call {
  offset: number;
  signal: AbortSignal;
  done(): void;
}

/** A stage whose work ends when the test says so. */
async function setUp(more: Partial<StageOptions["limits"]> = {}, manual = true) {
  const consumer = fakeConsumer();
  const producer = fakeProducer();
  let handlers: GroupHandlers | undefined;
  consumer.run = (given) => {
    handlers = given;
    return Promise.resolve();
  };
  const calls: Call[] = [];
  const output = (record: RawRecord): OutgoingMessage[] => [{ topic: "out", key: null, value: record.value }];
  const process: Process = (record, { offset }, lost) =>
    new Promise((resolve, reject) => {
      const signal = signalOf(lost);
      signal.addEventListener("abort", () => reject(signal.reason as Error));
      calls.push({ offset, signal, done: () => resolve(output(record)) });
      if (!manual) resolve(output(record));
    });
  const kafka: Pick<Kafka, "groupConsumer" | "transactionalProducer"> = {
    groupConsumer: () => consumer,
    transactionalProducer: () => producer,
  };
  const stage = createStage({
    name: "test",
    group: "g",
    topics: ["in"],
    transactionalId: "g.one",
    instance: "one",
    sessionTimeoutMs: 6_000,
    limits: { inFlight: 100, inFlightBytes: 1_000_000, drainMs: 400, ...more },
    kafka: kafka as Kafka,
    process,
    rejected: () => Promise.resolve([]),
    metrics: createStageMetrics(createMetricsRegistry(), "test"),
    log: silent,
  });
  const initialise = vi.spyOn(producer, "initialise");
  await stage.start();
  onTestFinished(() => stage.stop());
  if (handlers === undefined) throw new Error("the stage did not run its consumer");
  const its = handlers;
  const deliver = (offsets: readonly number[], partition = 0, from = offsets[0] ?? 0): void =>
    void its.onBatch(
      "in",
      partition,
      offsets.map((offset) => rawRecord(offset)),
      { from, next: (offsets.at(-1) ?? from - 1) + 1 },
      () => false,
    );
  const join = async (generation: number, ...partitions: number[]): Promise<void> => {
    its.onJoin(
      memberOf(generation),
      partitions.map((partition) => at(partition)),
    );
    await settled();
  };
  return { stage, consumer, producer, calls, handlers: its, deliver, join, initialise };
}
const range = (from: number, count: number): number[] => Array.from({ length: count }, (_, i) => from + i);

describe("stage", () => {
  test("initialises its producer before it joins, and commits what is finished in whatever order", async () => {
    const { producer, calls, deliver, join, initialise } = await setUp();
    expect(initialise).toHaveBeenCalledTimes(1);
    await join(1, 0);
    deliver([0, 1, 2]);
    calls[2]?.done();
    await settled();
    calls[0]?.done();
    await settled();
    expect(valuesOf(producer.committed)).toEqual(["v2", "v0"]);
    expect(producer.committed.map(({ offsets }) => offsets[0]?.partitions[0]?.offset)).toEqual(["0", "1"]);
  });

  test("takes no more at a time than its limits, and a single larger record all the same", async () => {
    const { calls, deliver, join } = await setUp({ inFlight: 2 });
    await join(1, 0);
    deliver([0, 1, 2, 3]);
    expect(calls).toHaveLength(2);
    calls[1]?.done();
    await settled();
    expect(calls.map(({ offset }) => offset)).toEqual([0, 1, 2]);
    const small = await setUp({ inFlightBytes: 1 });
    await small.join(1, 0);
    small.deliver([0, 1]);
    expect(small.calls).toHaveLength(1);
  });

  test("pauses a partition of which enough waits and resumes it when half of that is gone", async () => {
    const { consumer, calls, deliver, join, stage } = await setUp({ inFlight: 1 });
    await join(1, 0);
    consumer.calls.length = 0;
    deliver(range(0, 300));
    expect(consumer.calls).toEqual(["pause in/0"]);
    for (let i = 0; i < 200; i++) {
      calls[i]?.done();
      await settled();
    }
    expect(consumer.calls).toEqual(["pause in/0", "resume in/0"]);
    expect(stage.health()).toEqual({ joined: true, partitions: 1, inFlight: 1 });
  });

  test("a slow record delays no other until the window is full; then its partition waits", async () => {
    const { consumer, calls, deliver, join } = await setUp({ inFlight: 16_384 }, true);
    await join(1, 0);
    consumer.calls.length = 0;
    for (let from = 0; from < 20_000; from += 200) deliver(range(from, 200));
    for (const call of calls) if (call.offset > 0) call.done();
    await settled();
    expect(Math.max(...calls.map(({ offset }) => offset))).toBe(16_383);
    expect(consumer.calls).toEqual(["pause in/0"]);
    calls[0]?.done();
    await settled();
    expect(Math.max(...calls.map(({ offset }) => offset))).toBe(19_999);
  });

  test("what a batch from ahead would skip is read again", async () => {
    const { consumer, calls, deliver, join } = await setUp();
    await join(1, 0);
    deliver([0, 1]);
    consumer.calls.length = 0;
    deliver([5, 6]); // 2, 3 and 4 were never delivered
    await settled();
    expect(consumer.calls).toEqual(["pause in/0", "seek in/0 2", "resume in/0"]);
    expect(calls.map(({ offset }) => offset)).toEqual([0, 1]);
    deliver([2, 3, 4, 5, 6]);
    expect(calls.map(({ offset }) => offset)).toEqual(range(0, 7));
  });

  test("unless retention has removed it", async () => {
    const { consumer, calls, deliver, join } = await setUp();
    await join(1, 0);
    consumer.positions.set("in/0", { beginning: 5 });
    consumer.calls.length = 0;
    deliver([5, 6]);
    await settled();
    expect(consumer.calls).toEqual(["pause in/0", "seek in/0 5", "resume in/0"]);
    deliver([5, 6]);
    expect(calls.map(({ offset }) => offset)).toEqual([5, 6]);
  });

  test("an offset that the broker does not have is retention, or a log that lost its end", async () => {
    const { consumer, calls, handlers, deliver, join, stage } = await setUp();
    consumer.positions.set("in/0", { offset: 60, end: 60 });
    await join(1, 0);
    consumer.positions.set("in/0", { offset: 60, beginning: 70, end: 80 });
    consumer.calls.length = 0;
    handlers.onOutOfRange?.("in", 0);
    await settled();
    expect(consumer.calls).toEqual(["pause in/0", "seek in/0 70", "resume in/0"]);
    consumer.positions.set("in/0", { offset: 60, end: 50 });
    consumer.calls.length = 0;
    handlers.onOutOfRange?.("in", 0);
    await vi.waitFor(() => expect(consumer.calls.at(-1)).toBe("resume in/0"), 10_000);
    expect(consumer.calls).toContain("seek in/0 50");
    deliver([50, 51]);
    expect(calls.map(({ offset }) => offset)).toEqual([50, 51]);
    expect(stage.health()).toMatchObject({ resets: 1 });
  }, 15_000);

  test("control markers are passed, whether they come with records or alone", async () => {
    const { producer, calls, handlers, deliver, join } = await setUp();
    await join(1, 0);
    deliver([0]);
    calls[0]?.done();
    await settled();
    handlers.onMarkers?.("in", 0, 1, 3);
    deliver([3]);
    calls[1]?.done();
    await settled();
    expect(producer.committed.at(-1)?.offsets[0]?.partitions[0]?.offset).toBe("4");
  });

  test("what was finished beyond the committed position is not done again", async () => {
    const { consumer, calls, deliver, join } = await setUp();
    consumer.positions.set("in/0", { offset: 10, metadata: encodeFinished([1, 3]) });
    await join(1, 0);
    deliver(range(10, 5));
    expect(calls.map(({ offset }) => offset)).toEqual([10, 12, 14]);
  });

  test("after an unknown outcome it starts from what the broker says", async () => {
    const { consumer, producer, calls, deliver, join, initialise } = await setUp();
    await join(1, 0);
    deliver([0, 1, 2]);
    consumer.positions.set("in/0", { offset: 1 }); // the commit did go through
    producer.outcomes = [new TransactionOutcomeUnknown(new Error("cut"))];
    calls[0]?.done();
    await settled();
    expect(initialise).toHaveBeenCalledTimes(2);
    // What is under way goes on: nothing is asked twice.
    expect(calls[1]?.signal.aborted).toBe(false);
    deliver([1, 2]);
    expect(calls).toHaveLength(3);
    for (const call of calls.slice(1)) call.done();
    await settled();
    expect(valuesOf(producer.committed)).toEqual(["v1", "v2"]);
  });

  test("after an unknown outcome that was none, what is finished is sent again without being done again", async () => {
    const { producer, calls, deliver, join, initialise } = await setUp();
    await join(1, 0);
    deliver([0, 1]);
    producer.outcomes = Array.from({ length: 5 }, () => new TransactionOutcomeUnknown(new Error("slow")));
    for (const call of calls) call.done();
    await vi.waitFor(() => expect(valuesOf(producer.committed)).toEqual(["v0", "v1"]));
    expect([calls.length, initialise.mock.calls.length]).toEqual([2, 6]);
  });

  test("what was ready when the membership was lost is committed by the next one, unless another member was there", async () => {
    const { consumer, producer, calls, deliver, join } = await setUp();
    await join(1, 0);
    deliver([0, 1, 2]);
    const stuck = new TransactionOutcomeUnknown(new Error("the broker was frozen"));
    let thaw: (outcome: Error) => void = () => undefined;
    producer.outcomes = [() => new Promise((resolve) => (thaw = resolve))];
    calls[1]?.done();
    await settled();
    await join(5, 0); // as a new member that gets the same partition
    thaw(stuck);
    await settled();
    expect(calls.map(({ signal }) => signal.aborted)).toEqual([true, false, true]);
    deliver([0, 1, 2]);
    await settled();
    expect(calls.slice(3).map(({ offset }) => offset)).toEqual([0, 2]);
    expect(valuesOf(producer.committed)).toEqual(["v1"]);
    calls[3]?.done();
    await settled();
    consumer.positions.set("in/0", { offset: 3 });
    await join(9, 0);
    expect(valuesOf(producer.committed)).toEqual(["v1", "v0"]);
  });

  test("after an unknown outcome a partition whose position another process has moved is read again, the others go on", async () => {
    const { consumer, producer, calls, deliver, join } = await setUp();
    await join(1, 0, 1);
    deliver([0, 1], 0);
    deliver([0, 1], 1);
    consumer.positions.set("in/0", { offset: 2 });
    producer.outcomes = [new TransactionOutcomeUnknown(new Error("cut"))];
    calls[0]?.done();
    calls[2]?.done();
    await settled();
    expect(calls.map(({ signal }) => signal.aborted)).toEqual([false, true, false, false]); // the first had its result
    expect(valuesOf(producer.committed)).toEqual(["v0"]);
    deliver([1, 2], 0);
    expect(calls.slice(4).map(({ offset }) => offset)).toEqual([2]);
  });

  test("records of a partition that is not held are left alone", async () => {
    const { calls, deliver, join } = await setUp();
    await join(1, 0);
    deliver([0], 1);
    expect(calls).toEqual([]);
  });

  test("stopping, it finishes what is under way, takes nothing new and commits", async () => {
    const { stage, consumer, producer, calls, deliver, join } = await setUp({ inFlight: 1 });
    await join(1, 0);
    deliver([0, 1]);
    const stopped = stage.stop();
    calls[0]?.done();
    await stopped;
    expect(valuesOf(producer.committed)).toEqual(["v0"]);
    expect(calls).toHaveLength(1);
    expect(consumer.calls).toContain("pause in/0");
  });

  test("it ends even when the work, a commit or the goodbye never does", async () => {
    const { stage, consumer, producer, calls, deliver, join } = await setUp({ drainMs: 100 });
    await join(1, 0);
    deliver([0, 1]);
    producer.outcomes = [() => new Promise(() => undefined)];
    calls[0]?.done();
    await settled();
    const stop = vi.spyOn(consumer, "stop");
    await stage.stop();
    expect(stop).toHaveBeenCalledTimes(1);
    expect(calls[1]?.signal.aborted).toBe(true);
    expect(stage.health().inFlight).toBe(0);
  });
});
