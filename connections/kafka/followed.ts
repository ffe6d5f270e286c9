// How far each followed partition was read, who waits for it to be read to its end, and what it
// means when nothing more comes. Two things look the same from a consumer: a tail that compaction
// or retention emptied, which never comes, and a transaction that is open, behind which everything
// is kept from read-committed readers. The broker tells them apart: while the last stable offset
// lies before the end that is waited for, there is more to come, however long it takes; only once
// it has reached that end may fetches that bring nothing count as the end.
import type { Logger } from "pino";
import type { PartitionEnds, StuckPartition } from "./port.ts";

export interface Patience {
  /** Nothing for so long, and in so many fetches, asks for an explanation. */
  quietMs: number;
  fetches: number;
  /** A partition that nobody waits for is looked at so often while nothing comes. */
  idleMs: number;
  /** The broker is asked at most so often about one that somebody waits for. */
  askMs: number;
  lookMs: number;
  warnEveryMs: number;
}

const defaults: Patience = {
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
  /** Resolved when the position is there, or nobody follows any more. */
  waiting: { end: number; resolve: () => void }[];
  newsAt: number;
  lookedAt?: number;
  /** Fetches counted when the broker first said that all that is waited for is stable. */
  stableAt?: number;
  stuck?: { stable: number; high: number; since: number; warnedAt?: number };
}

export interface FollowedOptions {
  topic: string;
  ends: () => Promise<PartitionEnds[]>;
  isOurs: (partition: number) => boolean;
  patience?: Partial<Patience>;
  log: Logger;
}

export function createFollowed({ topic, ends, isOurs, log, ...options }: FollowedOptions) {
  const patience = { ...defaults, ...options.patience };
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

  /**
   * Of a partition that has been quiet: whether a transaction holds it, whether its rest is gone,
   * or whether all is read.
   */
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
    const quiet = handling === 0 && now - Math.max(anyNewsAt, state.newsAt) >= patience.quietMs;
    if (!quiet || fetches - state.stableAt < patience.fetches) return;
    log.warn(
      { topic, partition, position: state.position, end: awaited },
      "nothing more came though no transaction is open: the rest of the partition is taken as compacted away",
    );
    settle(state, true);
  };
  const warn = (partition: number, state: Followed, stuck: NonNullable<Followed["stuck"]>, now: number): void => {
    const ms = now - stuck.since;
    // Nobody waits: a transaction of this moment is no news.
    if (state.waiting.length === 0 && ms < patience.quietMs) return;
    if (stuck.warnedAt !== undefined && now - stuck.warnedAt < patience.warnEveryMs) return;
    stuck.warnedAt = now;
    log.warn(
      { topic, partition, lastStableOffset: stuck.stable, end: stuck.high, ms },
      "a transaction is open on the partition and keeps what is behind it from readers: waiting for its end",
    );
  };

  /** share: of the time after which a partition that nobody waits for is due. */
  const isDue = (partition: number, state: Followed, now: number, share = 1): boolean => {
    if (!isOurs(partition)) return false;
    const { newsAt, lookedAt = 0 } = state;
    if (state.waiting.length === 0) return now - Math.max(newsAt, lookedAt) >= patience.idleMs * share;
    return now - newsAt >= patience.quietMs && now - lookedAt >= patience.askMs;
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
  const watch = setInterval(() => void look(), patience.lookMs);
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
    /**
     * Partitions of which a transaction has held what is behind it since the last look at least.
     */
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
