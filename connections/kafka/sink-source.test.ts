import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { unknownOrigin } from "../../algorithms/identity/origin.ts";
import type { GroupConsumer, GroupHandlers, RawRecord, SinkHandlers } from "./port.ts";
import { createSinkSource } from "./sink-source.ts";

const member = { id: "me", generation: 1 };
const at = (partition: number) => ({ topic: "in", partition });
const record = (offset: number): RawRecord => ({ offset, key: null, value: null, headers: {}, timestamp: 0 });
const fresh = () => false;

function setUp(stored: Record<number, number | undefined> = {}) {
  let handlers: GroupHandlers | undefined;
  const calls: string[] = [];
  const resets: string[] = [];
  const now = { origin: unknownOrigin };
  const committed: Record<number, number | undefined> = {};
  const failures: Error[] = [];
  const consumer: GroupConsumer = {
    run: (given) => {
      handlers = given;
      return Promise.resolve();
    },
    pause: () => undefined,
    resume: (partitions) => partitions.forEach(({ partition }) => calls.push(`resume ${partition}`)),
    seek: ({ partition }, offset) => void calls.push(`seek ${partition} ${offset}`),
    committed: (partitions) =>
      Promise.resolve(
        partitions.map((p) => ({
          ...p,
          offset: committed[p.partition],
          metadata: "",
          beginning: 2,
          end: 100,
          origin: unknownOrigin,
          current: now.origin,
        })),
      ),
    rivals: () => Promise.resolve([]),
    origins: (topics) => Promise.resolve(new Map(topics.map((topic) => [topic, now.origin]))),
    committedNow: () => Promise.reject(new Error("sinks commit outside transactions")),
    commit: (positions) => {
      for (const { partition, offset } of positions) calls.push(`commit ${partition} ${offset}`);
      const failure = failures.pop();
      return failure === undefined ? Promise.resolve() : Promise.reject(failure);
    },
    stop: () => Promise.resolve(),
  };
  const onAssigned = vi.fn<SinkHandlers["onAssigned"]>((partitions) =>
    Promise.resolve(partitions.map((p) => ({ ...p, offset: stored[p.partition] }))),
  );
  const onRecords = vi.fn<SinkHandlers["onRecords"]>(() => Promise.resolve());
  const source = createSinkSource(consumer, pino({ level: "silent" }), (reason) => void resets.push(reason));
  void source.run({ onAssigned, onRecords });
  if (handlers === undefined) throw new Error("the source did not run its consumer");
  return { source, its: handlers, calls, resets, now, committed, failures, onAssigned, onRecords };
}
const turn = () => vi.advanceTimersByTimeAsync(0);
const second = () => vi.advanceTimersByTimeAsync(1_000);

describe("input of a sink", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("goes on where the sink says, or at what the broker still has", async () => {
    const { its, calls } = setUp({ 0: 7, 1: 1 });
    its.onJoin(member, [at(0), at(1), at(2)]);
    await turn();
    expect(calls).toEqual(["seek 0 7", "seek 1 2", "seek 2 2", "resume 0", "resume 1", "resume 2"]);
  });

  test("what is stored beyond the end is another log's: this one is read whole, at a join and while it runs", async () => {
    const { its, calls } = setUp({ 0: 101, 1: 100 });
    its.onJoin(member, [at(0), at(1)]);
    await turn();
    expect(calls.slice(0, 2)).toEqual(["seek 0 2", "seek 1 100"]);
    calls.length = 0;
    its.onOutOfRange?.("in", 0);
    await turn();
    expect(calls).toEqual(["seek 0 2", "seek 1 100", "resume 0", "resume 1"]);
  });

  test("a topic that is recreated while it is read: its origin is queried again, and it is read from its beginning", async () => {
    const { source, its, calls, resets, now, onAssigned } = setUp({ 0: 7 });
    now.origin = { cluster: "c", topicId: "old" };
    its.onJoin(member, [at(0)]);
    await turn();
    expect(source.origin("in", 0)).toEqual(now.origin);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(onAssigned).toHaveBeenCalledTimes(1);
    calls.length = 0;
    now.origin = { cluster: "c", topicId: "new" };
    onAssigned.mockImplementation((partitions) =>
      Promise.resolve(partitions.map(({ origin: _, ...p }) => ({ ...p, offset: undefined, anotherTopic: true }))),
    );
    await vi.advanceTimersByTimeAsync(5_000);
    expect(onAssigned).toHaveBeenLastCalledWith([{ ...at(0), origin: now.origin }]);
    expect(calls.slice(0, 2)).toEqual(["seek 0 2", "resume 0"]);
    expect(source.origin("in", 0)).toEqual(now.origin);
    expect(resets).toEqual(["another_topic"]);
    await source.stop();
  });

  test("asks again while the sink can't tell, and never for an assignment that is over", async () => {
    vi.useRealTimers(); // its waits between attempts are Node's own
    const { its, calls, onAssigned } = setUp({ 0: 7, 1: 5 });
    onAssigned.mockRejectedValueOnce(new Error("ClickHouse is away"));
    its.onJoin(member, [at(0)]);
    await vi.waitFor(() => expect(calls).toEqual(["seek 0 7", "resume 0"]));
    calls.length = 0;
    onAssigned.mockRejectedValueOnce(new Error("ClickHouse is away"));
    its.onJoin(member, [at(0)]);
    await vi.waitFor(() => expect(onAssigned).toHaveBeenCalledTimes(3));
    its.onJoin(member, [at(1)]);
    await new Promise((resolve) => setTimeout(resolve, 300)); // longer than the wait before the next attempt
    expect(calls).toEqual(["seek 1 5", "resume 1"]);
  });

  test("an idle group shows no lag: control markers are committed once everything before them is stored", async () => {
    const { source, its, calls } = setUp({ 0: 7 });
    its.onJoin(member, [at(0)]);
    await second();
    calls.length = 0;
    await its.onBatch("in", 0, [record(7), record(8)], { from: 7, next: 10 }, fresh);
    await second();
    expect(calls).toEqual([]); // 7 and 8 are not stored yet
    await source.commit([{ ...at(0), offset: 9 }]);
    await second();
    expect(calls).toEqual(["commit 0 9", "commit 0 10"]);
    its.onMarkers?.("in", 0, 10, 12);
    await second();
    await second();
    expect(calls).toEqual(["commit 0 9", "commit 0 10", "commit 0 12"]);
  });

  test("tells Kafka what the store has already when it takes a partition over", async () => {
    const { its, calls, committed } = setUp({ 0: 7 });
    committed[0] = 4;
    its.onJoin(member, [at(0)]);
    await second();
    expect(calls).toEqual(["seek 0 7", "resume 0", "commit 0 7"]);
  });

  test("records that are read again lower the committed position, and are settled again", async () => {
    const { source, its, calls, committed } = setUp({ 0: 7 });
    committed[0] = 10; // 7 and 8 were read before, and the marker behind them
    its.onJoin(member, [at(0)]);
    await second();
    await its.onBatch("in", 0, [record(7), record(8)], { from: 7, next: 10 }, fresh);
    await source.commit([{ ...at(0), offset: 9 }]);
    await second();
    await second();
    expect(calls.slice(2)).toEqual(["commit 0 9", "commit 0 10"]);
  });

  test("a commit that Kafka refused is repeated", async () => {
    const { its, calls, failures } = setUp({ 0: 7 });
    its.onJoin(member, [at(0)]);
    await second();
    calls.length = 0;
    failures.push(new Error("the coordinator is away"));
    its.onMarkers?.("in", 0, 7, 8);
    await second();
    await second();
    await second();
    expect(calls).toEqual(["commit 0 8", "commit 0 8"]);
  });

  test("commits nothing of a partition that went away", async () => {
    const { source, its, calls } = setUp({ 0: 7, 1: 7 });
    its.onJoin(member, [at(0), at(1)]);
    await second();
    its.onJoin({ ...member, generation: 2 }, [at(1)]);
    await second();
    calls.length = 0;
    await source.commit([
      { ...at(0), offset: 9 },
      { ...at(1), offset: 9 },
    ]);
    expect(calls).toEqual(["commit 1 9"]);
  });
});
