// Ends what a producer's former lives left open, each transaction as its coordinator recorded it:
// by a marker where this principal may write one (ClusterAction), else by an empty transaction of
// the new life with the same outcome. Without this, offsets stay unstable, and the next transaction
// of the producer would end them with its own outcome: publish what was aborted, or take back what
// was committed. In the normal case nothing is found, and it costs four round trips.
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { backoff } from "../../algorithms/queueing/backoff.ts";
import { classifyKafkaError } from "./errors.ts";
import {
  abortCommand,
  isSettled,
  recordedOutcome,
  type OpenTransaction,
  type Outcome,
  type RecordedTransaction,
} from "./open-transactions.ts";
import type { Reach } from "./port.ts";
import type { Look, Transactions, Unseen } from "./transactions.ts";

export interface SweepOptions {
  transactions: Transactions;
  transactionalId: string;
  /** What the producer may have written to. */
  reach: () => Reach;
  log: Logger;
}

export type Sweep = ReturnType<typeof createSweep>;

/** Wait for absent leaders and coordinators; not for one that stays away. */
const limitMs = 10_000;
const retryMs = { first: 20, limit: 500 };

interface Leftover {
  transaction: OpenTransaction;
  outcome: Outcome;
}

export function createSweep({ transactions, transactionalId, reach, log }: SweepOptions) {
  /** Recorded transaction of the last life, kept across attempts: the coordinator forgets it. */
  let former: RecordedTransaction | undefined;
  /** What only the new life can end. */
  let left: { outcome: Outcome; partitions: (OpenTransaction | Unseen)[] }[] = [];
  /** Whether the partitions have to be looked at once more. */
  let due = false;

  /** A look at every partition that has a leader, or gets one in time. */
  const look = async (): Promise<Look> => {
    const until = Date.now() + limitMs;
    const waits = backoff(retryMs);
    for (;;) {
      const seen = await transactions.look(reach());
      const leaderless = seen.unseen.filter(({ why }) => why === "no leader");
      if (leaderless.length === 0) return seen;
      if (Date.now() > until) {
        const partitions = leaderless.map(({ topic, partition }) => `${topic}-${partition}`);
        log.warn(
          { transactionalId, partitions },
          "no leader: what a former producer left open there is not looked for",
        );
        return { open: seen.open, unseen: seen.unseen.filter(({ why }) => why !== "no leader") };
      }
      await sleep(waits.next());
    }
  };

  /** Ends what is open of the former life; what may not be ended stays. */
  const clear = async (recorded: RecordedTransaction, still: () => Promise<boolean>): Promise<void> => {
    const { open, unseen } = await look();
    const found: Leftover[] = open
      .filter(({ producerId }) => producerId === recorded.producerId)
      // Without a record, no client has learned of a commit.
      .map((transaction) => ({ transaction, outcome: recordedOutcome(transaction, recorded) ?? "abort" }));
    if (found.length > 0 && !(await still())) return;
    const refused: Leftover[] = [];
    for (const leftover of found) {
      const { transaction, outcome } = leftover;
      const { refused: why } = await transactions.end(transaction, outcome);
      log.warn(
        { transactionalId, ...transaction, outcome, recorded: recorded.state, refused: why },
        why === undefined ? ended : notYet,
      );
      if (why !== undefined) refused.push(leftover);
    }
    // Where we may not look, the new life does what would be right if there were something.
    const blind = recordedOutcome({ ...recorded, lastTimestamp: recorded.startedAt }, recorded) ?? "abort";
    left = (["commit", "abort"] as const)
      .map((outcome) => ({
        outcome,
        partitions: [
          ...refused.filter((leftover) => leftover.outcome === outcome).map(({ transaction }) => transaction),
          ...(blind === outcome ? unseen : []),
        ],
      }))
      .filter(({ partitions }) => partitions.length > 0);
    due = false;
  };

  const retried = async (attempt: () => Promise<void>): Promise<void> => {
    const until = Date.now() + limitMs;
    const waits = backoff(retryMs);
    for (;;) {
      try {
        if (await transactions.available()) await attempt();
        return;
      } catch (error) {
        // A cluster that does not let us look must not keep the producer from working.
        if (classifyKafkaError(error) !== "retriable")
          return log.warn({ err: error, transactionalId }, "what a former producer left open can't be looked for");
        if (Date.now() > until) throw error;
        log.debug({ err: error, transactionalId }, "transactions can't be looked at yet");
        await sleep(waits.next());
      }
    }
  };

  return {
    /** Before the id is initialised, which erases the record: ends what can be ended by then. */
    before: (): Promise<void> =>
      retried(async () => {
        const recorded = await transactions.describe(transactionalId);
        if (recorded === undefined) return;
        // An attempt that failed after the initialisation knows more than the coordinator does now.
        if (former?.producerId !== recorded.producerId || recorded.state !== "Empty") former = recorded;
        due = true;
        if (!isSettled(recorded)) return;
        await clear(former, async () => {
          const now = await transactions.describe(transactionalId);
          return now?.state === recorded.state && now.epoch === recorded.epoch && now.startedAt === recorded.startedAt;
        });
      }),
    /** Once it is initialised, before anything is sent. */
    after: (): Promise<void> =>
      retried(async () => {
        // The former owner of the id is fenced: nothing changes any more.
        if (due && former !== undefined) await clear(former, () => Promise.resolve(true));
        for (let next = left[0]; next !== undefined; next = left[0]) {
          await transactions.endByOwn(transactionalId, reach(), next.partitions, next.outcome);
          await confirm(next.partitions);
          left.shift();
        }
        former = undefined;
      }),
  };

  /** What to do about a transaction that the new life couldn't end (exhausted id). */
  async function confirm(partitions: readonly (OpenTransaction | Unseen)[]): Promise<void> {
    const expected = partitions.filter((one): one is OpenTransaction => "openSince" in one);
    if (expected.length === 0) return;
    const { open } = await transactions.look(reach());
    for (const transaction of expected) {
      const { topic, partition, producerId, openSince } = transaction;
      const same = (o: OpenTransaction): boolean =>
        o.topic === topic && o.partition === partition && o.producerId === producerId && o.openSince === openSince;
      if (open.some(same))
        log.error({ transactionalId, ...transaction, command: abortCommand(transaction) }, "a transaction stays open");
      else log.warn({ transactionalId, ...transaction }, "ended by an empty transaction of the same producer");
    }
  }
}

const ended = "a transaction of a former producer was still open: ended";
const notYet = "a transaction of a former producer is still open, and no marker may be written";
