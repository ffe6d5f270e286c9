import { describe, expect, it } from "vitest";
import { createAdaptive } from "../../algorithms/response-cache/adaptive.ts";
import type { Answer } from "../../schemas/types.ts";
import { createKeptAnswers, type GivenAnswer } from "./entries.ts";

const anAnswer = (change: Partial<Answer> = {}): Answer => ({
  ...{ tenant: "acme", domain: "acme/default", hash: "h", requestId: "r1", text: "ls -a", finishReason: "stop" },
  ...{ arm: "small", model: "m", cost: 0.25, bytes: 100, expiresAt: 1_000, createdAt: 10 },
  ...change,
});
function cacheOf(budget = 1_000_000) {
  const state = { now: 100 };
  const told: [string, GivenAnswer][] = [];
  const kept = createKeptAnswers({
    policy: createAdaptive(budget),
    clock: () => state.now,
    onAnswer: (...one) => told.push(one),
  });
  return { kept, state, told };
}

describe("kept answers", () => {
  it("gives what came under the key until it expires, and nothing else", () => {
    const { kept, state } = cacheOf();
    expect(kept.find("k")).toBeUndefined();
    kept.apply("k", anAnswer());
    expect(kept.find("k")).toMatchObject({ text: "ls -a", cost: 0.25 });
    expect(kept.find("other")).toBeUndefined();
    state.now = 1_000;
    expect(kept.peek("k")).toBeUndefined();
    expect(kept.find("k")).toBeUndefined();
    expect(kept.figures()).toMatchObject({ entries: 0, bytes: 0, left: { expired: 1 } });
    kept.apply("k", anAnswer());
    expect(kept.figures().entries).toBe(0);
  });

  it("lets the newest win, whatever the order of their coming, and a tombstone take it away", () => {
    const { kept } = cacheOf();
    kept.apply("k", anAnswer({ createdAt: 20, text: "new" }));
    kept.apply("k", anAnswer({ createdAt: 10, text: "old" }));
    expect(kept.find("k")?.text).toBe("new");
    kept.apply("k", anAnswer({ createdAt: 30, text: "newest" }));
    expect(kept.find("k")?.text).toBe("newest");
    kept.apply("k", null);
    expect(kept.find("k")).toBeUndefined();
    expect(kept.figures()).toMatchObject({ entries: 0, bytes: 0, left: { removed: 1 } });
  });

  it("stays within its bytes and tells of every answer, kept or not", () => {
    const { kept, told } = cacheOf(10_000);
    for (let i = 0; i < 50; i++) kept.apply(`k${i}`, anAnswer({ bytes: 1_000 }));
    expect(told).toHaveLength(50);
    const { entries, bytes } = kept.figures();
    expect(bytes).toBeLessThanOrEqual(10_000);
    expect(entries).toBe(4);
    // What is asked for often displaces what is not.
    kept.asked("k49", 20);
    kept.apply("k49", anAnswer({ bytes: 1_000 }));
    expect(kept.find("k49")?.text).toBe("ls -a");
    expect(kept.figures().left.evicted).toBeGreaterThan(0);
    // One that grew too large is not held any more.
    kept.apply("k49", anAnswer({ bytes: 100_000, createdAt: 11 }));
    expect(kept.find("k49")).toBeUndefined();
  });

  it("keeps answers that cost nothing", () => {
    const { kept } = cacheOf();
    kept.apply("k", anAnswer({ cost: 0 }));
    expect(kept.find("k")).toBeDefined();
  });
});
