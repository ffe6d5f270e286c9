// Makes the caches of documents and examples before a request shows them, in an arm's idle time. At
// most half of the time is its own, so that what else runs on the host gets the rest.
import { setTimeout as sleep } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import type { Piece } from "../../schemas/types.ts";
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

/** A prompt that shows what is cached. */
export interface BuildPrompt {
  domain: string;
  pieces: Piece[];
}

export interface DocumentBuilds {
  /** The one that waits longest, until it is done; null: none waits. */
  next(): Promise<(BuildPrompt & { done(): void }) | null>;
}

export interface Built {
  caches: number;
  /** Computed, prefixes included. */
  tokens: number;
  /** No more should be made: the store is nearly full. */
  full: boolean;
}

export interface IdleBuildOptions {
  /** Registered by name, so they go before examples. */
  documents?: DocumentBuilds | undefined;
  /** null: no examples. */
  agenda: BuildAgenda | null;
  /** Ids of examples that have a cache. */
  cached(): Promise<readonly string[]>;
  /** Rejects with what the model rejects with. */
  build(item: BuildItem | BuildPrompt, signal: AbortSignal): Promise<Built>;
  /** Milliseconds of a monotonic clock. */
  now?: () => number;
}

export interface IdleBuild {
  /** Makes the caches of one of them; whether there is more to do at once. Rejects when aborted. */
  next(signal: AbortSignal): Promise<boolean>;
}

const readEveryMs = 60_000;
/** After the store was full: something may have been removed or evicted. */
const fullPauseMs = 600_000;
const mostTried = 100_000;

export function createIdleBuild(options: IdleBuildOptions): IdleBuild {
  const { documents, agenda, cached, build, now = () => performance.now() } = options;
  /** What was made and evicted again, or failed, is left to the requests. */
  const tried = new LRUCache<string, true>({ max: mostTried });
  let waiting: { id: string; domain: string }[] = [];
  let nextReadAt = -Infinity;
  let fullUntil = -Infinity;

  async function read(from: BuildAgenda): Promise<void> {
    nextReadAt = now() + readEveryMs;
    const there = new Set(await cached());
    waiting = (await from.ids()).filter(({ id }) => !there.has(id) && !tried.has(id)).reverse();
  }

  async function buildOne(read: () => Promise<BuildItem | BuildPrompt | null>, signal: AbortSignal): Promise<void> {
    try {
      const prompt = await read();
      if (prompt === null || !(await build(prompt, signal)).full) return;
      fullUntil = now() + fullPauseMs;
      waiting = [];
      nextReadAt = fullUntil;
    } catch (error) {
      // A request came: what is built stays.
      if (signal.aborted) throw error;
    }
  }

  return {
    async next(signal) {
      if (now() < fullUntil) return false;
      const began = now();
      const document = (await documents?.next()) ?? null;
      if (document === null) {
        if (agenda === null) return false;
        if (waiting.length === 0 && now() >= nextReadAt) await read(agenda);
        const first = waiting.at(-1);
        if (first === undefined) return false;
        await buildOne(() => agenda.item(first, contextChunks), signal);
        tried.set(first.id, true);
        if (waiting.at(-1) === first) waiting.pop();
      } else {
        await buildOne(() => Promise.resolve(document), signal);
        document.done();
      }
      await sleep(now() - began, undefined, { signal });
      return now() >= fullUntil && (document !== null || waiting.length > 0);
    },
  };
}
