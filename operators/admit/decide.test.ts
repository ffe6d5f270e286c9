import { pino } from "pino";
import { describe, expect, it } from "vitest";
import type { Admission } from "./admit.ts";
import type { Candidate } from "./candidates.ts";
import { createDecide } from "./decide.ts";

const kept: Admission = { outcome: "admitted", reason: null, exampleId: "e", quality: 1, changes: [] };
const candidate = (requestId: string) =>
  ({ source: "response", tenant: "t", requestId, rewardVersion: 1, quality: 0.5 }) as Candidate;
const all = (count: number) => Array.from({ length: count }, (_, i) => candidate(`r${i}`));

function start(fails: (requestId: string) => boolean, works = true, signal = new AbortController().signal) {
  const asked: string[] = [];
  const decide = createDecide({
    admit: () => ({
      decide: ({ requestId }) => {
        asked.push(requestId);
        return fails(requestId) ? Promise.reject(new Error(`${requestId} fails`)) : Promise.resolve(kept);
      },
    }),
    works: () => Promise.resolve(works),
    signal,
    log: pino({ level: "silent" }),
    mostFailures: 3,
  });
  return { decide, asked };
}

describe("a candidate that fails", () => {
  it("holds no other up, and is set aside after so many passes", async () => {
    const { decide } = start((id) => id === "r1");
    for (let pass = 1; pass <= 3; pass++) {
      const { decided, waiting } = await decide(all(4));
      expect(waiting).toBe(pass < 3 ? 1 : 0);
      expect(decided).toHaveLength(pass < 3 ? 3 : 4);
    }
    const { decided } = await start((id) => id === "r1").decide(all(4));
    expect(decided.map(({ candidate: { requestId } }) => requestId)).toEqual(["r0", "r2", "r3"]);
  });

  it("alone is set aside as well, where deciding works", async () => {
    const { decide } = start(() => true);
    await decide(all(1));
    await decide(all(1));
    expect((await decide(all(1))).decided).toMatchObject([
      { candidate: { requestId: "r0" }, admission: { outcome: "refused", reason: "failed", quality: 0.5 } },
    ]);
  });

  it("because a dependency is away is never blamed: the pass fails after a few", async () => {
    const { decide, asked } = start(() => true, false);
    for (let pass = 0; pass < 10; pass++) await expect(decide(all(200))).rejects.toThrow("fails");
    expect(asked).toHaveLength(50);
  });

  it("is forgotten once it was decided on", async () => {
    let broken = true;
    const { decide } = start((id) => broken && id === "r0");
    for (let round = 0; round < 5; round++) {
      broken = true;
      expect((await decide(all(2))).waiting).toBe(1);
      broken = false;
      expect((await decide(all(2))).waiting).toBe(0);
    }
  });

  it("does not hide that the lock is lost", async () => {
    const { decide, asked } = start(() => true, true, AbortSignal.abort());
    await expect(decide(all(2))).rejects.toThrow();
    expect(asked).toEqual([]);
  });
});
