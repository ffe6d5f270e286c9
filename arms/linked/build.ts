// Makes the caches of documents and examples before a request shows them, in an arm's idle time. At
// most half of the time is its own, so that what else runs on the host gets the rest.
import { setTimeout as sleep } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import type { Piece } from "../../schemas/types.ts";
import { contextChunks } from "./context.ts";
import { aborted } from "./plans.ts";

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
  /** Caches that are not made yet: the store is nearly full, or the time for a step is over. */
  left: number;
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

const readEveryMs = 60_000;
/** After the store was full: something may have been removed or evicted. */
const fullPauseMs = 600_000;
const mostTried = 100_000;
/** Times that an example can't be read before it is left. */
const mostUnread = 3;

export function createIdleBuild(options: IdleBuildOptions) {
  const { documents, agenda, cached, build, now = () => performance.now() } = options;
  /** What was made and evicted again, or failed, is left to the requests. */
  const tried = new LRUCache<string, true>({ max: mostTried });
  const unread = new LRUCache<string, number>({ max: 1_000 });
  let waiting: { id: string; domain: string }[] = [];
  let nextReadAt = -Infinity;
  let fullUntil = -Infinity;
  /** What was begun, and how many of its caches were left. */
  let begun: { of: unknown; left: number } | undefined;

  async function read(from: BuildAgenda): Promise<void> {
    nextReadAt = now() + readEveryMs;
    const there = new Set(await cached());
    waiting = (await from.ids()).filter(({ id }) => !there.has(id) && !tried.has(id)).reverse();
  }

  /** null: it is gone, or can never be read; undefined: the next reading gives it again. */
  async function itemOf(from: BuildAgenda, one: { id: string; domain: string }): Promise<BuildItem | null | undefined> {
    try {
      return await from.item(one, contextChunks);
    } catch {
      const failed = (unread.get(one.id) ?? 0) + 1;
      unread.set(one.id, failed);
      if (failed >= mostUnread) return null;
      // The others most likely can't be read either.
      waiting = [];
      return undefined;
    }
  }

  /** Whether nothing more can be made of it. */
  async function buildOne(prompt: BuildItem | BuildPrompt, signal: AbortSignal): Promise<boolean> {
    const of = "pieces" in prompt ? prompt.pieces : prompt.id;
    const before = begun?.of === of ? begun.left : Infinity;
    try {
      const { full, left } = await build(prompt, signal);
      begun = full ? undefined : { of, left };
      if (!full) return left === 0 || left >= before;
      fullUntil = now() + fullPauseMs;
      waiting = [];
      nextReadAt = fullUntil;
      return left === 0;
    } catch (error) {
      // A request came: what is built stays.
      if (signal.aborted) throw error;
      return true;
    }
  }

  return {
    /**
     * Makes the caches of one of them; whether there is more to do at once. Rejects when aborted.
     */
    async next(signal: AbortSignal): Promise<boolean> {
      if (now() < fullUntil) return false;
      signal.throwIfAborted();
      const began = now();
      const document = (await documents?.next()) ?? null;
      if (document === null) {
        if (agenda === null) return false;
        if (waiting.length === 0 && now() >= nextReadAt) await unlessAborted(read(agenda), signal);
        const first = waiting.at(-1);
        if (first === undefined) return false;
        const item = await unlessAborted(itemOf(agenda, first), signal);
        if (item === null || (item !== undefined && (await buildOne(item, signal)))) {
          tried.set(first.id, true);
          if (waiting.at(-1) === first) waiting.pop();
        }
      } else if (await buildOne(document, signal)) document.done();
      await sleep(now() - began, undefined, { signal });
      return now() >= fullUntil && (document !== null || waiting.length > 0);
    },
  };
}

/** A request, or the end of the arm, does not wait for a slow database. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const ended = aborted(signal).then((): never => {
    throw signal.reason;
  });
  return Promise.race([work, ended]);
}
