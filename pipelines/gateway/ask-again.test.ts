import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import { afterAll, beforeAll, expect, it } from "vitest";
import { configSchema } from "../../config/schema.ts";
import type { Conversation } from "../../gateway/conversation.ts";
import type { AskingAgain } from "../../gateway/page/data/filters.ts";
import { createArms } from "../../state/arms.ts";
import { createAskAgain } from "./ask-again.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-again-"));
  const line = { request: "why?", response: "because" };
  await writeFile(join(folder, "log.jsonl"), JSON.stringify(line));
});
afterAll(() => rm(folder, { recursive: true }));

const score = (arm: string, mean: number) => ({
  ...{ arm, model: "m", cost: 0, context: [1], mean, deviation: 0.1, sampled: mean, bias: 0, probability: 0.5 },
  examples: [{ id: "e1" }, { id: "gone" }],
});
const asked = (more: Partial<Conversation["request"]> = {}) =>
  ({
    request: {
      ...{ id: "r", tenant: "t", domain: "t/default", documents: [], requires: [], passthrough: "", allowedArms: [] },
      messages: [{ role: "user", content: "why?" }],
      params: { maxTokens: null, temperature: null, topP: null, seed: null, stop: [] },
      ...more,
    },
    decision: { arm: "small", arms: [score("small", 0.5), score("large", 0.9)] },
    examples: [{ id: "e1", request: "what?", response: "that" }],
  }) as unknown as Conversation;

function opened(found: Conversation | null) {
  const arm = { type: "recorded", model: "m", file: join(folder, "log.jsonl"), cost: 1 };
  const prices = { prompt: 1, completion: 1 };
  const config = configSchema.parse({
    arms: [
      { ...arm, name: "small", prices, examples: false },
      { ...arm, name: "large", prices, examples: true, latencyMs: 5 },
      { ...arm, name: "unreadable", file: join(folder, "none.jsonl") },
      { name: "copy", type: "reuse" },
    ],
  });
  const session = { config, arms: createArms(config.arms), tracing: undefined, log: pino({ level: "silent" }) };
  const clickhouse = { query: <R>() => Promise.resolve<R[]>([]) };
  const { askAgain, armsFor } = createAskAgain({ session, clickhouse, find: () => Promise.resolve(found) });
  const { signal } = new AbortController();
  return {
    armsFor,
    ask: (asking: Partial<AskingAgain>, given = signal) =>
      askAgain({ id: "r", tenant: "t", maxCost: 1, ...asking }, given),
  };
}

it("shows an arm the examples that the pool still has, and says what it took", async () => {
  const answer = await opened(asked()).ask({ arm: "large" });
  expect(answer).toMatchObject({
    ...{ arm: "large", status: "ok", text: "because", examples: 1, goneExamples: 1, policyVersion: null },
  });
  expect(answer.cost).toBeGreaterThan(0);
});

it.each([
  [["small", "large", "unreadable"], {}],
  [["large"], { allowedArms: ["large", "copy"] }],
  [[], { documents: ["d"] }],
  [[], { requires: ["tools"] }],
])("lets %j be asked where the request has %j", async (names, more) => {
  const { armsFor, ask } = opened(asked(more));
  expect(armsFor(asked(more).request)).toEqual(names);
  for (const arm of ["small", "copy", "other", "__proto__"])
    if (!(names as string[]).includes(arm)) await expect(ask({ arm })).rejects.toThrow(/can't be asked/);
});

it("says why an arm or a version of the router is not asked", async () => {
  await expect(opened(asked()).ask({ arm: "unreadable" })).rejects.toThrow(/can't be opened/);
  await expect(opened(null).ask({ arm: "small" })).rejects.toThrow(/not recorded/);
  // The logged features are of another layout than the router's.
  await expect(opened(asked()).ask({ policyVersion: 0 })).rejects.toThrow(/can't judge/);
  const blank = { decision: { arms: [{ ...score("small", NaN), context: [] }] } } as unknown as Partial<Conversation>;
  await expect(opened({ ...asked(), ...blank }).ask({ policyVersion: 0 })).rejects.toThrow(/can't judge/);
  await expect(opened(asked()).ask({ policyVersion: 7 })).rejects.toThrow(/no such version/);
  const { decision: _decision, ...refused } = asked();
  await expect(opened(refused).ask({ policyVersion: 0 })).rejects.toThrow(/No router chose/);
});

it("asks one at a time, and the next after a failure", async () => {
  const { ask } = opened(asked());
  const first = ask({ arm: "large" });
  await expect(ask({ arm: "small" })).rejects.toThrow(/asking another/);
  await first;
  await expect(ask({ arm: "unreadable" })).rejects.toThrow();
  expect(await ask({ arm: "small" })).toMatchObject({ arm: "small", examples: 0 });
});

it("ends with its client", async () => {
  const { ask } = opened(asked());
  const gone = new AbortController();
  gone.abort(new Error("gone"));
  await expect(ask({ arm: "large" }, gone.signal)).rejects.toThrow("gone");
  expect(await ask({ arm: "large" })).toMatchObject({ status: "ok" });
});
