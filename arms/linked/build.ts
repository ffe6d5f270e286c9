// Makes the caches of examples before a request shows them, in an arm's idle time. At most half of
// the time is its own, so that what else runs on the host gets the rest.
import { setTimeout as sleep } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import { contextChunks } from "./context.ts";

/** An example with those that it would stand beside, in prompt order: itself last. */
export interface BuildItem {
  id: string;
  domain: string;
  examples: readonly { id: string; request: string; response: string }[];
}

export interface BuildAgenda {
  /** The most valuable first. domain: of this sharing domain alone. */
  ids(domain?: string): Promise<{ id: string; domain: string }[]>;
  /** null: it is gone. */
  item(of: { id: string; domain: string }, neighbours: number): Promise<BuildItem | null>;
}

export interface Built {
  caches: number;
  /** Computed, prefixes included. */
  tokens: number;
  /** No more should be made: the store is nearly full. */
  full: boolean;
}

export interface IdleBuildOptions {
  agenda: BuildAgenda;
  /** Ids of examples that have a cache. */
  cached(): Promise<readonly string[]>;
  /** Rejects with what the model rejects with. */
  build(item: BuildItem, signal: AbortSignal): Promise<Built>;
  /** Milliseconds of a monotonic clock. */
  now?: () => number;
}

export interface IdleBuild {
  /** Makes the caches of one example; whether there is more to do at once. Rejects when aborted. */
  next(signal: AbortSignal): Promise<boolean>;
}

const readEveryMs = 60_000;
/** After the store was full: something may have been removed or evicted. */
const fullPauseMs = 600_000;
const mostTried = 100_000;

export function createIdleBuild(options: IdleBuildOptions): IdleBuild {
  const { agenda, cached, build, now = () => performance.now() } = options;
  /** What was made and evicted again, or failed, is left to the requests. */
  const tried = new LRUCache<string, true>({ max: mostTried });
  let waiting: { id: string; domain: string }[] = [];
  let nextReadAt = -Infinity;

  async function read(): Promise<void> {
    nextReadAt = now() + readEveryMs;
    const there = new Set(await cached());
    waiting = (await agenda.ids()).filter(({ id }) => !there.has(id) && !tried.has(id)).reverse();
  }

  return {
    async next(signal) {
      if (waiting.length === 0 && now() >= nextReadAt) await read();
      const first = waiting.at(-1);
      if (first === undefined) return false;
      const began = now();
      try {
        const item = await agenda.item(first, contextChunks);
        const { full } = item === null ? { full: false } : await build(item, signal);
        if (full) {
          waiting = [];
          nextReadAt = now() + fullPauseMs;
        }
      } catch (error) {
        // A request came: the example stays.
        if (signal.aborted) throw error;
      }
      tried.set(first.id, true);
      if (waiting.at(-1) === first) waiting.pop();
      await sleep(now() - began, undefined, { signal });
      return waiting.length > 0;
    },
  };
}
