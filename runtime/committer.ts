// Commits what has finished: whenever the producer is idle and something is done, one transaction with the positions of all
// partitions concerned and the outputs. Batches form by themselves while a commit is under way; nothing lingers (docs/design/delivery.md, Work outside transactions).
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { waitAfter } from "../algorithms/backoff.ts";
import { withOrigin } from "../algorithms/origin.ts";
import { kafkaErrorType, NoSuchPartition, TransactionAborted } from "../connections/kafka/errors.ts";
import type { GroupMember, OutgoingMessage, TransactionalProducer } from "../connections/kafka/port.ts";
import type { PartitionState, TaskEntry } from "./partition.ts";
import type { Attempt } from "./reconcile.ts";

export interface CommitterOptions {
  producer: TransactionalProducer;
  group: string;
  /** Partitions held now, ready ones only. */
  partitions: () => Iterable<PartitionState>;
  /** The member to commit as; undefined between being fenced and the next join. */
  member: () => GroupMember | undefined;
  /** Called for entries whose outputs are committed. */
  onCommitted: (state: PartitionState, entries: TaskEntry[]) => void;
  /** This member was fenced: it may commit nothing until it has joined again. */
  onFenced: (member: GroupMember) => void;
  /**
   * A transaction's outcome is unknown: initialise the producer and find out, before it resolves. The attempts that were committed after all;
   * the other partitions were let go, or nothing of them was committed.
   */
  onUnknown: (attempts: readonly Attempt[], cause: unknown) => Promise<ReadonlySet<Attempt>>;
  /** Outputs that stand in for those the broker will never take (too large); again: it did not take the stand-ins either. */
  rejected: (entry: TaskEntry, state: PartitionState, cause: unknown, again: boolean) => Promise<OutgoingMessage[]>;
  log: Logger;
}

export interface Committer {
  /** Something has finished. */
  kick(): void;
  /** Commits positions that moved without work (control markers were passed), so that an idle group shows no lag. */
  settle(): void;
  /** Resolves when no commit is under way and nothing that can be committed is left. */
  idle(): Promise<void>;
  stop(): void;
}

/** A transaction's outputs; a single larger record still goes, alone. kafkajs makes one record batch a partition of them. */
const transactionBytes = 4 * 1024 * 1024;
/** What the broker says of records that it will never take. */
const refusedForGood = new Set(["MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE", "INVALID_RECORD", "INVALID_TIMESTAMP"]);
const backoffMs = { first: 20, limit: 2_000 };

interface Share {
  state: PartitionState;
  entries: TaskEntry[];
}
type AttemptedShare = Share & Attempt;

export function createCommitter(options: CommitterOptions): Committer {
  const { producer, group, partitions, member, onCommitted, onFenced, onUnknown, rejected, log } = options;
  let running: Promise<void> | undefined;
  let stopped = false;
  let failures = 0;
  /** Entries of a refused transaction: while there are any, entries go one by one, until the ones at fault are found. */
  const suspects = new Map<TaskEntry, PartitionState>();

  /** Whether the next transaction is for positions alone. */
  let settling = false;

  /** Done entries of all partitions in turn, within the byte limit. */
  const collect = (): Share[] => {
    const shares: Share[] = [];
    let bytes = 0;
    for (const [entry, state] of suspects) if (state.dropped || entry.state === "committed") suspects.delete(entry);
    const isolate = suspects.size > 0;
    for (const state of partitions()) {
      const entries: TaskEntry[] = [];
      for (const entry of state.window.entries()) {
        if (entry.state !== "done") continue;
        const size = entry.item.messages.reduce((sum, m) => sum + (m.value?.length ?? 0) + 100, 0);
        if (bytes > 0 && (bytes + size > transactionBytes || isolate)) break;
        entries.push(entry);
        bytes += size;
      }
      const moved = settling && state.window.position().offset > state.committed;
      if (entries.length > 0 || moved) shares.push({ state, entries });
    }
    settling = false;
    return shares;
  };

  const attempt = ({ state, entries }: Share): AttemptedShare => ({
    ...{ state, entries },
    position: state.window.position(new Set(entries)),
  });

  const commitOnce = async (as: GroupMember, shares: AttemptedShare[]): Promise<void> => {
    const topics = new Map<string, { partition: number; offset: string; metadata: string | null }[]>();
    for (const { state, position } of shares) {
      const { offset, metadata } = position;
      const list = topics.get(state.topic) ?? [];
      topics.set(state.topic, list);
      list.push({ partition: state.partition, offset: String(offset), metadata: withOrigin(state.origin, metadata) });
    }
    await producer.transact({
      group,
      member: as,
      offsets: [...topics].map(([topic, list]) => ({ topic, partitions: list })),
      messages: shares.flatMap(({ entries }) => entries.flatMap((entry) => entry.item.messages)),
    });
  };

  const conclude = ({ state, entries, position }: AttemptedShare): void => {
    state.committed = position.offset;
    state.stored = position;
    state.window.commit(entries);
    onCommitted(state, entries);
  };

  const replace = async (entry: TaskEntry, state: PartitionState, cause: unknown): Promise<void> => {
    const { item, offset } = entry;
    item.refusals++;
    suspects.delete(entry);
    const at = { topic: state.topic, partition: state.partition, offset };
    try {
      item.messages = item.refusals > 2 ? [] : await rejected(entry, state, cause, item.refusals > 1);
    } catch (error) {
      item.messages = [];
      log.error({ err: error, ...at }, "no dead letter can be made");
    }
    if (item.messages.length === 0) log.error({ err: cause, ...at }, "a record is passed over without any output");
  };

  /** Outputs that name a partition which their topic does not have go where their key puts them: they are wanted, and once. */
  const redirect = ({ missing }: NoSuchPartition, shares: readonly Share[]): boolean => {
    const isMissing = (message: OutgoingMessage): boolean =>
      missing.some(({ topic, partition }) => topic === message.topic && partition === message.partition);
    let redirected = false;
    for (const { entries } of shares)
      for (const { item } of entries) {
        if (!item.messages.some(isMissing)) continue;
        item.messages = item.messages.map((message) => {
          if (!isMissing(message)) return message;
          const { partition, ...rest } = message;
          log.error({ topic: message.topic, partition }, "no such partition: a record goes where its key belongs");
          return rest;
        });
        redirected = true;
      }
    return redirected;
  };

  const handle = async (error: unknown, as: GroupMember, shares: AttemptedShare[]): Promise<void> => {
    if (!(error instanceof TransactionAborted)) {
      log.warn({ err: error }, "outcome of a transaction unknown: the committed offsets will tell");
      const committed = await onUnknown(shares, error);
      for (const share of shares) if (committed.has(share) && !share.state.dropped) conclude(share);
      return;
    }
    if (error.fenced) {
      log.info({ err: error.cause, member: as.id, generation: as.generation }, "fenced: waiting for the next join");
      onFenced(as);
      return;
    }
    failures++;
    if (error.cause instanceof NoSuchPartition && redirect(error.cause, shares)) return;
    if (refusedForGood.has(kafkaErrorType(error.cause) ?? "")) {
      const all = shares.flatMap(({ state, entries }) => entries.map((entry) => ({ state, entry })));
      const [only] = all;
      if (all.length === 1 && only !== undefined) await replace(only.entry, only.state, error.cause);
      else for (const { entry, state } of all) suspects.set(entry, state);
      return;
    }
    log.warn({ err: error.cause, failures }, "a transaction was aborted, trying again");
    await sleep(waitAfter(failures, backoffMs));
  };

  const loop = async (): Promise<void> => {
    for (;;) {
      const as = member();
      if (stopped || as === undefined) return;
      const shares = collect().map(attempt);
      if (shares.length === 0) return;
      try {
        await commitOnce(as, shares);
        failures = 0;
        shares.forEach(conclude);
      } catch (error) {
        await handle(error, as, shares);
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
        if (!stopped && member() !== undefined && collect().length > 0) kick();
      });
  };

  return {
    kick,
    settle() {
      settling = true;
      kick();
    },
    async idle() {
      while (running !== undefined) await running;
    },
    stop() {
      stopped = true;
    },
  };
}
