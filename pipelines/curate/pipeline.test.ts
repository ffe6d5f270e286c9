import { describe, expect, it } from "vitest";
import type { Admission } from "../../operators/admit/admit.ts";
import type { Candidate } from "../../operators/admit/candidates.ts";
import { curate } from "./pipeline.ts";

const candidate = { requestId: "r1" } as Candidate;
const change = { id: "e1", domain: "t/d", value: null };
const admission: Admission = { outcome: "admitted", reason: null, exampleId: "e1", quality: 1, changes: [change] };
const cursor = { source: "rewards", partition: 0, position: 5 };

function setUp(
  options: { publish?: () => Promise<void>; found?: Candidate[]; evictEveryMs?: number; waiting?: number } = {},
) {
  const done: string[] = [];
  const signal = new AbortController();
  const pass = curate.bind({
    candidates: () => Promise.resolve({ candidates: options.found ?? [candidate], cursors: [cursor], more: false }),
    decide: (found) =>
      Promise.resolve({
        decided: found.map((one) => ({ candidate: one, admission })),
        waiting: options.waiting ?? 0,
      }),
    evict: () => Promise.resolve([{ ...change, id: "e2", reason: "expired" as const }]),
    async publish(changes) {
      await options.publish?.();
      done.push(`publish ${changes.map(({ id }) => id).join()}`);
    },
    remember: (decided, cursors) => {
      done.push(`remember ${decided.length} ${cursors.length}`);
      return Promise.resolve();
    },
    evictEveryMs: options.evictEveryMs ?? 1e9,
    now: () => performance.now(),
    observe: () => undefined,
    signal: signal.signal,
  });
  return { pass, done, signal };
}

describe("a pass of curate", () => {
  it("publishes before it remembers, and evicts when it is time", async () => {
    const { pass, done } = setUp();
    await pass();
    await pass();
    expect(done).toEqual(["publish e1", "remember 1 1", "publish e2", "publish e1", "remember 1 1"]);
  });
  it("leaves its cursors before what waits, and goes on with the rest of the pass", async () => {
    const { pass, done } = setUp({ waiting: 1 });
    expect((await pass()).evicted).toHaveLength(1);
    expect(done).toEqual(["publish e1", "remember 1 0", "publish e2"]);
  });
  it("remembers nothing when publishing failed", async () => {
    const { pass, done } = setUp({ publish: () => Promise.reject(new Error("fenced")) });
    await expect(pass()).rejects.toThrow("fenced");
    expect(done).toEqual([]);
  });
  it("stops in the middle of a batch when the lock is lost", async () => {
    const { pass, done, signal } = setUp();
    signal.abort();
    await expect(pass()).rejects.toThrow();
    expect(done).toEqual([]);
  });
});
