// Commits what has finished, one transaction whenever the producer is idle: positions and outputs.
// Nothing lingers (docs/design/delivery.md, Work outside transactions).
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { waitAfter } from "../algorithms/queueing/backoff.ts";
import { withOrigin } from "../algorithms/identity/origin.ts";
import { NoSuchPartition, TransactionAborted } from "../connections/kafka/errors.ts";
import type { GroupMember, TransactionalProducer } from "../connections/kafka/port.ts";
import type { PartitionState, TaskEntry } from "./partition.ts";
import { collect, type PartitionEntries } from "./batch.ts";
import type { Attempt } from "./reconcile.ts";
import { isRefusedForGood, redirect, replaceOutputs, type Rejected } from "./refused-outputs.ts";
import { groupBy } from "../algorithms/lists/lists.ts";

export interface CommitterOptions {
  producer: TransactionalProducer;
  group: string;
  partitions: () => Iterable<PartitionState>;
  /** The member to commit as; undefined between being fenced and the next join. */
  member: () => GroupMember | undefined;
  onCommitted: (state: PartitionState, entries: TaskEntry[]) => void;
  /** This member was fenced: it may commit nothing until it has joined again. */
  onFenced: (member: GroupMember) => void;
  /** The outcome is unknown: initialises, and resolves to the attempts that were committed. */
  onUnknown: (attempts: readonly Attempt[], cause: unknown) => Promise<ReadonlySet<Attempt>>;
  rejected: Rejected;
  /** A record is passed over without any output. */
  onWithheld: () => void;
  log: Logger;
}

export type Committer = ReturnType<typeof createCommitter>;

const backoffMs = { first: 20, limit: 2_000 };

type AttemptedEntries = PartitionEntries & Attempt;

export function createCommitter(options: CommitterOptions) {
  const { producer, group, partitions, member, onCommitted, onFenced, onUnknown, log } = options;
  let running: Promise<void> | undefined;
  let stopped = false;
  let failures = 0;
  /** Entries of a refused transaction go one by one until the culprits are found. */
  const suspects = new Map<TaskEntry, PartitionState>();

  /** Whether the next transaction is for positions alone. */
  let settling = false;

  const takeAll = (): PartitionEntries[] => {
    const moved = settling;
    settling = false;
    return collect({ partitions, suspects }, moved);
  };

  const attempt = ({ state, entries }: PartitionEntries): AttemptedEntries => ({
    ...{ state, entries },
    position: state.window.position(new Set(entries)),
  });

  const commitOnce = async (as: GroupMember, collected: AttemptedEntries[]): Promise<void> => {
    const partitionOf = ({ state, position: { offset, metadata } }: AttemptedEntries) => ({
      ...{ partition: state.partition, offset: String(offset), metadata: withOrigin(state.origin, metadata) },
    });
    const topics = groupBy(collected, ({ state }) => state.topic);
    await producer.transact({
      group,
      member: as,
      offsets: [...topics].map(([topic, its]) => ({ topic, partitions: its.map(partitionOf) })),
      messages: collected.flatMap(({ entries }) => entries.flatMap((entry) => entry.item.messages)),
    });
  };

  const conclude = ({ state, entries, position }: AttemptedEntries): void => {
    state.committed = position.offset;
    state.stored = position;
    state.window.commit(entries);
    onCommitted(state, entries);
  };

  const handle = async (error: unknown, as: GroupMember, collected: AttemptedEntries[]): Promise<void> => {
    if (!(error instanceof TransactionAborted)) {
      log.warn({ err: error }, "outcome of a transaction unknown: the committed offsets will tell");
      const committed = await onUnknown(collected, error);
      for (const share of collected) if (committed.has(share) && !share.state.dropped) conclude(share);
      return;
    }
    if (error.fenced) {
      log.info({ err: error.cause, member: as.id, generation: as.generation }, "fenced: waiting for the next join");
      onFenced(as);
      return;
    }
    failures++;
    if (error.cause instanceof NoSuchPartition && redirect(error.cause, collected, log)) return;
    if (isRefusedForGood(error.cause)) {
      const all = collected.flatMap(({ state, entries }) => entries.map((entry) => ({ state, entry })));
      const [only] = all;
      if (all.length === 1 && only !== undefined) {
        suspects.delete(only.entry);
        await replaceOutputs({ ...only, cause: error.cause }, options);
      } else for (const { entry, state } of all) suspects.set(entry, state);
      return;
    }
    log.warn({ err: error.cause, failures }, "a transaction was aborted, trying again");
    await sleep(waitAfter(failures, backoffMs));
  };

  const loop = async (): Promise<void> => {
    for (;;) {
      const as = member();
      if (stopped || as === undefined) return;
      const collected = takeAll().map(attempt);
      if (collected.length === 0) return;
      try {
        await commitOnce(as, collected);
        failures = 0;
        collected.forEach(conclude);
      } catch (error) {
        await handle(error, as, collected);
      }
    }
  };

  const kick = (): void => {
    if (running !== undefined || stopped) return;
    running = new Promise<void>((resolve) => setImmediate(resolve))
      .then(loop)
      .catch((error: unknown) => {
        log.error({ err: error }, "the committer failed");
      })
      .finally(() => {
        running = undefined;
        if (!stopped && member() !== undefined && takeAll().length > 0) kick();
      });
  };

  return {
    kick,
    /** Commits positions that only passed control markers, so that no lag shows. */
    settle(): void {
      settling = true;
      kick();
    },
    /** Resolves when no commit is under way and nothing that can be committed is left. */
    async idle(): Promise<void> {
      while (running !== undefined) await running;
    },
    stop(): void {
      stopped = true;
    },
  };
}
