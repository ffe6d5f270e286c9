// The domains' indexes: opened until it works, reopened when their owner dies, saved now and then.
// Meanwhile searches reject with VectorError index_unavailable and changes wait.
import type { Waits } from "../../algorithms/queueing/backoff.ts";
import { untilDone } from "../../runtime/until-done.ts";
import { VectorError } from "../vectors/port.ts";
import { createDomainIndexes, isLost, type DomainIndexesOptions } from "./domain-indexes.ts";
import type { Touched } from "./store-state.ts";

export interface LastingIndexesOptions extends DomainIndexesOptions {
  /** Runs what it is given when all changes asked for before are done. */
  inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /** Milliseconds between attempts to open them, doubling from first to last. */
  pause: Waits;
  /** Aborted when the pool closes: nothing is opened any more. */
  closing: AbortSignal;
}

export function createLastingIndexes({ inTurn, pause, closing, ...options }: LastingIndexesOptions) {
  const { ledger, log } = options;
  const indexes = createDomainIndexes(options);
  let rebuilding = false;
  let rebuilds = 0;

  async function open(): Promise<void> {
    rebuilding = true;
    await untilDone(() => indexes.open(), {
      ...{ waits: pause, signal: closing },
      onFailure: (error, retryInMs) => log.error({ err: error, retryInMs }, "vector indexes can't be opened"),
    }).catch(() => undefined);
    rebuilding = false;
  }
  async function rebuild(): Promise<void> {
    rebuilds++;
    await open();
    log.info({ examples: ledger.counts().held, domains: ledger.domains().size }, "vector indexes rebuilt");
  }

  return {
    /** In turn, and before anything else. */
    open,
    /** In turn. The store is right already; only the indexes have to follow. */
    async follow(touched: Touched): Promise<void> {
      try {
        await indexes.follow(touched);
      } catch (error) {
        if (!isLost(error) || closing.aborted) throw error;
        await rebuild();
      }
    },
    search: indexes.search,
    /** A search that meets a dead owner starts the rebuild. */
    async revive<T>(find: () => Promise<T>): Promise<T> {
      if (rebuilding) throw new VectorError("index_unavailable", "the vector indexes are being rebuilt");
      try {
        return await find();
      } catch (error) {
        if (isLost(error) && !rebuilding && !closing.aborted) {
          rebuilding = true;
          void inTurn(rebuild);
        }
        throw error;
      }
    },
    /** Takes its turns itself. */
    async save(from: { examples: number; changes: number }): Promise<void> {
      for (const domain of rebuilding ? [] : indexes.due(from))
        try {
          const begun = await inTurn(() => indexes.save(domain));
          const trim = await begun?.written;
          if (trim !== undefined) await inTurn(trim);
        } catch (error) {
          log.warn({ err: error, domain }, "a vector index can't be saved yet");
        }
    },
    rebuilds: (): number => rebuilds,
    figures: indexes.figures,
    close: indexes.close,
  };
}
