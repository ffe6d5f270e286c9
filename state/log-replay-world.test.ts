// Time, chance, load and answers of a log replay.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import type { Arm } from "../arms/arm.ts";
import { armRequest, aTurn } from "../arms/request.testing.ts";
import { armSchema } from "../config/schema.ts";
import { plainRequest } from "../schemas/plain-request.ts";
import type { Replayed } from "./log-replay-row.ts";
import { createWorld } from "./log-replay-world.ts";

const beginning = 1_000_000;
const arm = armSchema.parse({ name: "small", type: "recorded", file: "none" });
const replayed = (id: string, at: number): Replayed => ({
  request: { ...plainRequest("q", {}), id, createdAt: at },
  load: 0.9,
  saturation: { small: 0.5 },
  answers: new Map([
    [
      "small",
      {
        ...{ model: null, text: "yes", finishReason: "stop", promptTokens: 3, completionTokens: 1, cost: 0.1 },
        ...{ firstTokenMs: 40, serviceMs: 120.4, reward: 1, propensity: 0.5 },
      },
    ],
  ]),
});
const known = new Map(["a", "b"].map((id, i) => [id, replayed(id, beginning + 1_000 * (i + 1))]));
const world = (seed = 1n) =>
  createWorld({
    find: (_tenant, id) => known.get(id),
    ...{ seed, beginning, speed: Infinity, liveArms: new Set(["live"]), modelOf: () => "m" },
    saturation: () => ({ threshold: 2, gamma: 1, weight: 1 }),
  });
const never = (): Promise<Arm> => Promise.reject(new Error("no model is called"));
const ask = (requestId: string) => armRequest({ requestId, pieces: [aTurn("q")] });

it("every record has its own time, which goes on by what its arm took, and its own chance", async () => {
  const { clock, random, inItsTime, load, arm: open } = world();
  const small = await open(arm, never);
  const run = (id: string) =>
    inItsTime(known.get(id)!.request, async () => {
      const first = [clock(), random()];
      await sleep(id === "a" ? 5 : 1);
      const answer = await small.answer(ask(id), new AbortController().signal);
      return { first, second: random(), ended: clock(), load: load(), answer };
    });
  const [a, b] = await Promise.all([run("a"), run("b")]);
  expect([a.first[0], a.ended, b.first[0], b.ended]).toEqual([1_001_000, 1_001_120, 1_002_000, 1_002_120]);
  expect(a.answer).toMatchObject({ kind: "answer", text: "yes", model: "m", source: "replayed", firstTokenMs: 40 });
  expect(a.load.costlier).toBe(0.9);
  expect(a.load.byArm.get("small")).toBeCloseTo(2 + Math.atanh(0.5), 9);
  expect(a.first[1]).not.toBe(b.first[1]);
  expect(clock()).toBe(beginning);
  // In another order and another world, the same.
  const again = await world().inItsTime(known.get("b")!.request, async () => Promise.resolve());
  expect(again).toBeUndefined();
  const other = world();
  const draws = await other.inItsTime(known.get("b")!.request, () => Promise.resolve([other.random(), other.random()]));
  expect(draws).toEqual([b.first[1], b.second]);
  const seeded = world(2n);
  expect(await seeded.inItsTime(known.get("b")!.request, () => Promise.resolve(seeded.random()))).not.toBe(draws[0]);
});

it("says not_recorded where the log has nothing, and asks only the arms that are named", async () => {
  const { arm: open, inItsTime, clock } = world();
  const silent = await open({ ...arm, name: "large" }, never);
  expect(await silent.answer(ask("a"), new AbortController().signal)).toMatchObject({ code: "not_recorded" });
  let deadline = 0;
  const live = await open({ ...arm, name: "live" }, () =>
    Promise.resolve({
      ...{ name: "live", model: "m", concurrency: 1, close: () => Promise.resolve() },
      answer: async (request) => {
        ({ deadline } = request);
        await sleep(20);
        return { kind: "failure", code: "cancelled", message: "", attempts: 0, retriable: true };
      },
    }),
  );
  const ended = await inItsTime(known.get("a")!.request, async () => {
    await live.answer({ ...ask("a"), deadline: clock() + 60_000 }, new AbortController().signal);
    return clock();
  });
  expect(ended).toBeGreaterThan(1_001_015);
  // On our clock, or it would be late at once.
  expect(Math.abs(deadline - Date.now())).toBeLessThan(61_000);
});
