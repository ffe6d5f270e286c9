import pino from "pino";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { requestKey } from "../../algorithms/identity/identity.ts";
import type { LeaderOutcome } from "./leader-outcomes.ts";
import { createUnderWay, type Asking, type Released } from "./under-way.ts";

const log = pino({ level: "silent" });
const answer = {
  requestId: "a",
  text: "42",
  finishReason: "stop",
  stopSequence: null,
  arm: "small",
  model: "m",
  cost: 1,
};
const asking = (id: string, change: Partial<Asking> = {}): Asking => ({
  ...{ tenant: "acme", id, arrivedAt: Date.now(), deadline: Date.now() + 100_000 },
  ...change,
});

/** Outcomes by leader's id, as they become known. */
function underWayWith(followers = 10) {
  const known = new Map<string, LeaderOutcome>();
  const looks: string[][] = [];
  const underWay = createUnderWay({
    outcomes: {
      find(leaders) {
        looks.push(leaders.map(({ id }) => id));
        return Promise.resolve(
          new Map(
            leaders.flatMap((one) =>
              known.has(one.id) ? [[requestKey(one.tenant, one.id), known.get(one.id)!] as const] : [],
            ),
          ),
        );
      },
    },
    ...{ followers, everyMs: 1_000, clock: Date.now, log },
  });
  const released: Record<string, Released> = {};
  const follow = (id: string, change: Partial<Asking> = {}, signal = new AbortController().signal): void => {
    const one = asking(id, change);
    expect(underWay.follows("k", one)).toBe(true);
    void underWay.follow("k", one, signal).then((how) => (released[id] = how));
  };
  return { underWay, known, looks, released, follow };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("requests under way", () => {
  it("the first leads; the others get its answer when it comes, and the next one leads again", async () => {
    const { underWay, released, follow, looks } = underWayWith();
    expect(underWay.follows("k", asking("a"))).toBe(false);
    expect(underWay.follows("other", asking("x"))).toBe(false);
    follow("b");
    follow("c");
    expect(underWay.waiting()).toBe(2);
    underWay.answered("k", answer);
    await vi.advanceTimersByTimeAsync(0);
    expect(released).toEqual({ b: { kind: "answer", answer }, c: { kind: "answer", answer } });
    expect(underWay.waiting()).toBe(0);
    expect(underWay.follows("k", asking("d"))).toBe(false);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(looks).toEqual([]);
  });

  it("the same record, taken up again, does not wait for itself", () => {
    const { underWay } = underWayWith();
    expect(underWay.follows("k", asking("a"))).toBe(false);
    expect(underWay.follows("k", asking("a"))).toBe(false);
  });

  it("followers of a leader that failed are released one by one, until one is answered", async () => {
    const { underWay, known, released, follow } = underWayWith();
    underWay.follows("k", asking("a"));
    follow("b");
    follow("c");
    follow("d");
    known.set("a", { answer: null, createdAt: Date.now() });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(released).toEqual({ b: { kind: "leads" } });
    await vi.advanceTimersByTimeAsync(3_000);
    expect(Object.keys(released)).toEqual(["b"]);
    known.set("b", { answer: null, createdAt: Date.now() });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(released.c).toEqual({ kind: "leads" });
    known.set("c", { answer, createdAt: Date.now() + 5_000 });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(released.d).toEqual({ kind: "answer", answer });
  });

  it("an answer that may not be cached goes to requests that came before it, to none after", async () => {
    const { underWay, known, released, follow } = underWayWith();
    underWay.follows("k", asking("a"));
    follow("b");
    known.set("a", { answer, createdAt: Date.now() + 10 });
    await vi.advanceTimersByTimeAsync(100);
    follow("late");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(released).toEqual({ b: { kind: "answer", answer }, late: { kind: "leads" } });
  });

  it("a follower waits for half of its time at most, and ends with its signal", async () => {
    const { underWay, released, follow } = underWayWith();
    underWay.follows("k", asking("a"));
    const controller = new AbortController();
    follow("b", { deadline: Date.now() + 10_000 });
    follow("c", {}, controller.signal);
    controller.abort();
    await vi.advanceTimersByTimeAsync(0);
    expect(released).toEqual({ c: { kind: "gone" } });
    await vi.advanceTimersByTimeAsync(5_000);
    expect(released.b).toEqual({ kind: "leads" });
    expect(underWay.waiting()).toBe(0);
  });

  it("no more than so many follow one request, and what is over is forgotten", async () => {
    const { underWay, follow } = underWayWith(2);
    underWay.follows("k", asking("a", { deadline: Date.now() + 1_000 }));
    follow("b");
    follow("c");
    expect(underWay.follows("k", asking("d"))).toBe(false);
    underWay.answered("k", answer);
    underWay.follows("k", asking("e", { deadline: Date.now() + 1_000 }));
    await vi.advanceTimersByTimeAsync(2_000);
    underWay.sweep();
    expect(underWay.follows("k", asking("f"))).toBe(false);
  });
});
