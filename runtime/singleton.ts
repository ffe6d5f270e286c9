// Runs a task in the one process that is assigned the partition of `locks`; losing it aborts. A
// zombie can't publish: generation and producer fence it. Other effects must be idempotent.
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { backoff } from "../algorithms/queueing/backoff.ts";
import { kafkaErrorType, TransactionAborted } from "../connections/kafka/errors.ts";
import type { GroupMember, Kafka, OutgoingMessage } from "../connections/kafka/port.ts";

/** L, T: the types of the names of the lock's topic and of the topics written. */
export interface SingletonOptions<L extends string, T extends string> {
  /** What processes compete for; also names the group. */
  group: string;
  topic: L;
  instance: string;
  sessionTimeoutMs: number;
  /** Shared by everybody who may write what the task writes: initialising one fences the others. */
  transactionalId: string;
  outputs: readonly T[];
  kafka: Pick<Kafka<L, never, T>, "groupConsumer" | "transactionalProducer">;
  /** How long stop() waits for the task, milliseconds; 10,000 by default. */
  drainMs?: number;
  /** Runs while this process leads; started again after it rejects. */
  task: (lease: Lease<T>) => Promise<void>;
  log: Logger;
}

export interface FencedProducer<T extends string = string> {
  /** Fences others. Needed before the first publish and after each that rejected. */
  initialise(): Promise<void>;
  /** All messages or none. Rejects with TransactionAborted or TransactionOutcomeUnknown. */
  publish: (messages: readonly OutgoingMessage<T>[]) => Promise<void>;
}

export interface Lease<T extends string = string> extends FencedProducer<T> {
  /** Aborted when the partition went to another process, or on stop. */
  readonly signal: AbortSignal;
}

export interface Singleton {
  start(): Promise<void>;
  stop(): Promise<void>;
  health(): { joined: boolean; partitions: number; inFlight: number };
}

const restartMs = { first: 500, limit: 30_000 };

/** What says that another process holds the partition: initialising again would only disturb it. */
const lostGroup = new Set(["ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID"]);

/** Whether a rejected publish means that the lease is over. */
const isLeaseLost = (error: unknown): boolean =>
  error instanceof TransactionAborted && lostGroup.has(kafkaErrorType(error.cause) ?? "");

export function createSingleton<L extends string, T extends string>({
  kafka,
  group,
  topic,
  transactionalId,
  outputs,
  task,
  log,
  drainMs = 10_000,
  ...options
}: SingletonOptions<L, T>): Singleton {
  const consumer = kafka.groupConsumer({ group, topics: [topic], ...options });
  const producer = kafka.transactionalProducer(transactionalId, () => ({ groups: [group], topics: outputs }));
  let joined = false;
  let member: GroupMember | undefined;
  let running: { controller: AbortController; done: Promise<void> } | undefined;
  let former: Promise<void> = Promise.resolve();

  const lease = (signal: AbortSignal): Lease<T> => ({
    signal,
    initialise() {
      signal.throwIfAborted();
      return producer.initialise();
    },
    async publish(messages) {
      signal.throwIfAborted();
      if (member === undefined) throw new Error("not a member of the group");
      // The offset means nothing; that it may be committed does.
      const offsets = [{ topic, partitions: [{ partition: 0, offset: "0", metadata: options.instance }] }];
      try {
        await producer.transact({ group, member, offsets, messages });
      } catch (error) {
        if (isLeaseLost(error)) end("the group has given the lock to another process");
        throw error;
      }
    },
  });

  const run = async (signal: AbortSignal): Promise<void> => {
    const waits = backoff(restartMs);
    while (!signal.aborted) {
      const began = Date.now();
      try {
        await task(lease(signal));
        return;
      } catch (error) {
        if (signal.aborted) return;
        log.error({ err: error, group }, "the task of the only one failed, starting it again");
        if (Date.now() - began > restartMs.limit) waits.reset();
        await sleep(waits.next(), undefined, { signal }).catch(() => undefined);
      }
    }
  };

  function begin(): void {
    const controller = new AbortController();
    // Two of one process must not overlap either.
    const done = former.then(() => run(controller.signal));
    former = done;
    running = { controller, done };
    log.info({ group }, "elected");
  }

  function end(reason: string): void {
    if (running === undefined) return;
    log.info({ group }, reason);
    running.controller.abort(new Error(reason));
    running = undefined;
  }

  return {
    async start() {
      await consumer.run({
        onJoin(next, partitions) {
          const kept = member !== undefined && member.id === next.id && next.generation === member.generation + 1;
          joined = true;
          member = next;
          const mine = partitions.length > 0;
          // A member that missed a generation may have missed that another process held the
          // partition.
          if (running !== undefined && !(mine && kept)) end(mine ? "elected anew" : "another process was elected");
          if (mine && running === undefined) begin();
        },
        onBatch: () => undefined,
      });
    },
    async stop() {
      end("stopping");
      // A task that hangs on a dependency delays no other task: its signal is aborted, and it can
      // publish nothing more.
      await Promise.race([former, sleep(drainMs, undefined, { ref: false })]);
      await consumer.stop();
      await producer.close();
    },
    health: () => ({ joined, partitions: running === undefined ? 0 : 1, inFlight: 0 }),
  };
}
