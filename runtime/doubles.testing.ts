// Kafka's port for the unit tests of the runtime: nothing happens by itself, every answer is given
// by the test.
import { pino } from "pino";
import type {
  CommittedOffset,
  GroupConsumer,
  GroupMember,
  Positions,
  RawRecord,
  TopicPartition,
  Transaction,
  TransactionalProducer,
} from "../connections/kafka/port.ts";
import { unknownOrigin, type Origin } from "../algorithms/identity/origin.ts";
import { createPartition, deliver, partitionKey, type PartitionState, type TaskEntry } from "./partition.ts";

export const silent = pino({ level: "silent" });
export const memberOf = (generation: number, id = "me"): GroupMember => ({ id, generation });
export const at = (partition: number, topic = "in"): TopicPartition => ({ topic, partition });
export const rawRecord = (offset: number, value: string | null = `v${offset}`): RawRecord => ({
  offset,
  key: Buffer.from(`k${offset}`),
  value: value === null ? null : Buffer.from(value),
  headers: {},
  timestamp: 1_000,
});

export interface FakeConsumer extends GroupConsumer {
  /** What was asked of it, in order: "pause in/0", "seek in/0 5", "resume in/0". */
  calls: string[];
  /**
   * Answers of committed() and committedNow(), by partition; an Error rejects, or is waited for.
   */
  positions: Map<string, Partial<CommittedOffset> | Error>;
  /** What has the topics' names now. */
  origin: Origin;
  /** While set, committed() waits. */
  gate: Promise<void> | undefined;
}

const unbounded = { end: Number.MAX_SAFE_INTEGER, origin: unknownOrigin, current: unknownOrigin };

export function fakeConsumer(): FakeConsumer {
  const calls: string[] = [];
  const all = (name: string, partitions: readonly TopicPartition[]): void => {
    for (const partition of partitions) calls.push(`${name} ${partitionKey(partition)}`);
  };
  const fake: FakeConsumer = {
    calls,
    positions: new Map(),
    origin: unknownOrigin,
    gate: undefined,
    run: () => Promise.resolve(),
    pause: (partitions) => {
      all("pause", partitions);
    },
    resume: (partitions) => {
      all("resume", partitions);
    },
    seek: (partition, offset) => void calls.push(`seek ${partitionKey(partition)} ${offset}`),
    async committed(partitions) {
      await fake.gate;
      return partitions.map((partition) => {
        const found = fake.positions.get(partitionKey(partition)) ?? {};
        if (found instanceof Error) throw found;
        return { ...partition, offset: undefined, metadata: "", beginning: 0, ...unbounded, ...found };
      });
    },
    async committedNow(partitions) {
      await fake.gate;
      const answer: Positions = { known: [], waiting: [] };
      for (const partition of partitions) {
        const found = fake.positions.get(partitionKey(partition)) ?? {};
        if (found instanceof Error) answer.waiting.push({ ...partition, why: unstable });
        else answer.known.push({ ...partition, offset: undefined, metadata: "", beginning: 0, ...unbounded, ...found });
      }
      return answer;
    },
    origins: (topics) => Promise.resolve(new Map(topics.map((topic) => [topic, fake.origin]))),
    rivals: () => Promise.resolve([]),
    commit: () => Promise.resolve(),
    stop: () => Promise.resolve(),
  };
  return fake;
}
const unstable = "an open transaction is about to move it";

export interface FakeProducer extends TransactionalProducer {
  /** Transactions that were committed. */
  committed: Transaction[];
  attempts: number;
  /**
   * What the next transactions run into, in order; undefined commits. A function may look at the
   * transaction first.
   */
  outcomes: (Error | undefined | ((transaction: Transaction) => Error | undefined | Promise<Error | undefined>))[];
}

export function fakeProducer(): FakeProducer {
  const fake: FakeProducer = {
    committed: [],
    attempts: 0,
    outcomes: [],
    initialise: () => Promise.resolve(),
    async transact(transaction) {
      fake.attempts++;
      const outcome = fake.outcomes.shift();
      const error = typeof outcome === "function" ? await outcome(transaction) : outcome;
      await Promise.resolve();
      if (error !== undefined) throw error;
      fake.committed.push(transaction);
    },
    close: () => Promise.resolve(),
  };
  return fake;
}

/**
 * A partition to which records were delivered and whose given offsets have one output each, its
 * value the record's.
 */
export function partitionWith(partition: number, offsets: readonly number[], done: readonly number[]): PartitionState {
  const state = createPartition(at(partition), offsets[0] ?? 0, []);
  deliver(
    state,
    offsets.map((offset) => rawRecord(offset)),
    (offsets.at(-1) ?? -1) + 1,
  );
  for (const offset of done) finish(state, offset);
  return state;
}

export function finish(state: PartitionState, offset: number, value = `${state.partition}/${offset}`): TaskEntry {
  const entry = state.window.entries().find((known) => known.offset === offset);
  if (entry === undefined) throw new Error(`offset ${offset} is not in the window`);
  entry.state = "done";
  entry.item.messages = [{ topic: "out", key: "k", value: Buffer.from(value) }];
  return entry;
}

export const valuesOf = (transactions: readonly Transaction[]): string[] =>
  transactions.flatMap(({ messages }) => messages.map(({ value }) => String(value)));

/** Lets everything run that waits for nothing but its turn. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}
