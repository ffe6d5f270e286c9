import { describe, expect, it } from "vitest";
import { createAdaptive } from "../../algorithms/response-cache/adaptive.ts";
import type { CacheEntry } from "../../schemas/types.ts";
import { createCacheEntries, type CachedAnswer } from "./entries.ts";

const anEntry = (change: Partial<CacheEntry> = {}): CacheEntry => ({
  ...{
    tenant: "acme",
    domain: "acme/default",
    hash: "h",
    requestId: "r1",
    text: "ls -a",
    finishReason: "stop",
    stopSequence: null,
  },
  ...{ arm: "small", model: "m", cost: 0.25, bytes: 100, expiresAt: 1_000, createdAt: 10 },
  ...change,
});
function cacheOf(budget = 1_000_000) {
  const state = { now: 100 };
  const reported: [string, CachedAnswer][] = [];
  const entries = createCacheEntries({
    policy: createAdaptive(budget),
    clock: () => state.now,
    onAnswer: (...one) => reported.push(one),
  });
  return { entries, state, reported };
}

describe("cache entries", () => {
  it("gives what came under the key until it expires, and nothing else", () => {
    const { entries, state } = cacheOf();
    expect(entries.find("k")).toBeUndefined();
    entries.apply("k", anEntry());
    expect(entries.find("k")).toMatchObject({ text: "ls -a", cost: 0.25 });
    expect(entries.find("other")).toBeUndefined();
    state.now = 1_000;
    expect(entries.peek("k")).toBeUndefined();
    expect(entries.find("k")).toBeUndefined();
    expect(entries.figures()).toMatchObject({ entries: 0, bytes: 0, left: { expired: 1 } });
    entries.apply("k", anEntry());
    expect(entries.figures().entries).toBe(0);
  });

  it("lets the newest win, whatever the order of their coming, and a tombstone take it away", () => {
    const { entries } = cacheOf();
    entries.apply("k", anEntry({ createdAt: 20, text: "new" }));
    entries.apply("k", anEntry({ createdAt: 10, text: "old" }));
    expect(entries.find("k")?.text).toBe("new");
    entries.apply("k", anEntry({ createdAt: 30, text: "newest" }));
    expect(entries.find("k")?.text).toBe("newest");
    entries.apply("k", null);
    expect(entries.find("k")).toBeUndefined();
    expect(entries.figures()).toMatchObject({ entries: 0, bytes: 0, left: { removed: 1 } });
  });

  it("stays within its bytes and tells of every answer, entries or not", () => {
    const { entries, reported } = cacheOf(10_000);
    for (let i = 0; i < 50; i++) entries.apply(`k${i}`, anEntry({ bytes: 1_000 }));
    expect(reported).toHaveLength(50);
    const { entries: count, bytes } = entries.figures();
    expect(bytes).toBeLessThanOrEqual(10_000);
    expect(count).toBe(4);
    // What is asked for often displaces what is not.
    entries.asked("k49", 20);
    entries.apply("k49", anEntry({ bytes: 1_000 }));
    expect(entries.find("k49")?.text).toBe("ls -a");
    expect(entries.figures().left.evicted).toBeGreaterThan(0);
    // One that grew too large is not held any more.
    entries.apply("k49", anEntry({ bytes: 100_000, createdAt: 11 }));
    expect(entries.find("k49")).toBeUndefined();
  });

  it("keeps answers that cost nothing", () => {
    const { entries } = cacheOf();
    entries.apply("k", anEntry({ cost: 0 }));
    expect(entries.find("k")).toBeDefined();
  });
});
