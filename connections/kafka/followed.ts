// How far each followed partition was read, which callers wait for its end, and what silence means.
// To a consumer two cases look the same: a tail emptied by compaction or retention, which never
// arrives, and an open transaction, which withholds all later records from read-committed readers.
// The broker distinguishes them. While the last stable offset is before the awaited end, more
// records will come, however long it takes. Only once it has reached that end do fetches without
// records count as the end.
import type { Logger } from "pino";
import type { PartitionEnds, StuckPartition } from "./port.ts";

export interface FollowTimings {
  /** A partition without records for this time, and for this many fetches, is checked. */
  quietMs: number;
  fetches: number;
  /** How often a quiet partition without waiting callers is checked. */
  idleMs: number;
  /** Minimum interval between queries to the broker about a partition with waiting callers. */
  askMs: number;
  lookMs: number;
  warnEveryMs: number;
}

const defaults: FollowTimings = {
  quietMs: 10_000,
  fetches: 20,
  idleMs: 15_000,
  askMs: 1_000,
  lookMs: 500,
  warnEveryMs: 60_000,
};

/** A quiet partition is verified with another one after this share of its time. */
const soon = 0.5;

export interface Followed {
  /** Behind what was handed over, control markers included. */
  position: number;
  /** Resolved at the position, or when the partition is no longer followed. */
  waiting: { end: number; resolve: () => void }[];
  newsAt: number;
  lookedAt?: number;
  /** Number of fetches when the broker first reported the whole awaited range as stable. */
  stableAt?: number;
  stuck?: { stable: number; high: number; since: number; warnedAt?: number };
}

export interface FollowedOptions {
  topic: string;
  ends: () => Promise<PartitionEnds[]>;
  isOurs: (partition: number) => boolean;
  timings?: Partial<FollowTimings>;
  log: Logger;
}

export function createFollowed({ topic, ends, isOurs, log, ...options }: FollowedOptions) {
  const timings = { ...defaults, ...options.timings };
  const followed = new Map<number, Followed>();
  let handling = 0;
  let fetches = 0;
  let anyNewsAt = Date.now();
  let looking = false;
  let stopped = false;

  const news = (state: Followed): void => {
    anyNewsAt = state.newsAt = Date.now();
    delete state.stableAt;
  };
  const settle = (state: Followed, abandoned = false): void => {
    state.waiting = state.waiting.filter(({ end, resolve }) => {
      if (!abandoned && state.position < end) return true;
      resolve();
      return false;
    });
  };
  const reach = (state: Followed, next: number): void => {
    news(state);
    delete state.stuck;
    state.position = Math.max(state.position, next);
    settle(state);
  };

  /** Classifies a quiet partition: held by a transaction, rest gone, or all read. */
  const verify = (partition: number, state: Followed, { stable, high }: PartitionEnds): void => {
    const now = Date.now();
    state.lookedAt = now;
    const awaited = state.waiting[0] === undefined ? high : Math.min(...state.waiting.map(({ end }) => end));
    if (stable < awaited) {
      delete state.stableAt;
      if (state.stuck?.stable !== stable) state.stuck = { stable, high, since: now };
      state.stuck.high = high;
      warn(partition, state, state.stuck, now);
      return;
    }
    delete state.stuck;
    if (state.waiting.length === 0) return;
    // What was fetched before it was stable says nothing.
    state.stableAt ??= fetches;
    const quiet = handling === 0 && now - Math.max(anyNewsAt, state.newsAt) >= timings.quietMs;
    if (!quiet || fetches - state.stableAt < timings.fetches) return;
    log.warn(
      { topic, partition, position: state.position, end: awaited },
      "nothing more came though no transaction is open: the rest of the partition is taken as compacted away",
    );
    settle(state, true);
  };
  const warn = (partition: number, state: Followed, stuck: NonNullable<Followed["stuck"]>, now: number): void => {
    const ms = now - stuck.since;
    // No caller waits, so a short transaction is not worth a warning.
    if (state.waiting.length === 0 && ms < timings.quietMs) return;
    if (stuck.warnedAt !== undefined && now - stuck.warnedAt < timings.warnEveryMs) return;
    stuck.warnedAt = now;
    log.warn(
      { topic, partition, lastStableOffset: stuck.stable, end: stuck.high, ms },
      "a transaction is open on the partition and keeps what is behind it from readers: waiting for its end",
    );
  };

  /** share: of the time after which a partition without waiting callers is due. */
  const isDue = (partition: number, state: Followed, now: number, share = 1): boolean => {
    if (!isOurs(partition)) return false;
    const { newsAt, lookedAt = 0 } = state;
    if (state.waiting.length === 0) return now - Math.max(newsAt, lookedAt) >= timings.idleMs * share;
    return now - newsAt >= timings.quietMs && now - lookedAt >= timings.askMs;
  };
  const look = async (): Promise<void> => {
    const due = (share?: number) =>
      [...followed].filter(([partition, state]) => isDue(partition, state, Date.now(), share));
    if (looking || due().length === 0) return;
    looking = true;
    try {
      // The broker tells the ends of all partitions at once: those that are due soon are verified
      // as well, so that partitions that are quiet together cost one question and not one each.
      const quiet = due(soon);
      const found = await ends();
      for (const [partition, state] of quiet) {
        const end = found.find((one) => one.partition === partition);
        const current = !stopped && followed.get(partition) === state && isDue(partition, state, Date.now(), soon);
        if (end !== undefined && current) verify(partition, state, end);
      }
    } catch (error) {
      log.debug({ err: error, topic }, "the ends of a quiet topic are not known now");
    } finally {
      looking = false;
    }
  };
  const watch = setInterval(() => void look(), timings.lookMs);
  watch.unref();

  return {
    followed,
    news,
    settle,
    reach,
    fetched(): void {
      fetches++;
    },
    /** A handler runs; call what it returns when it has ended. */
    busy(state: Followed): () => void {
      handling++;
      return () => {
        handling--;
        news(state);
      };
    },
    /** Partitions that a transaction has blocked since the last look at least. */
    stuck: (): StuckPartition[] =>
      [...followed].flatMap(([partition, state]) =>
        state.stuck === undefined
          ? []
          : [
              {
                topic,
                partition,
                stable: state.stuck.stable,
                high: state.stuck.high,
                since: state.stuck.since,
              },
            ],
      ),
    stop(): void {
      stopped = true;
      clearInterval(watch);
    },
  };
}
