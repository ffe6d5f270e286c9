import fc from "fast-check";
import { pino } from "pino";
import { expect, test } from "vitest";
import { exampleTokens } from "../../algorithms/tokens.ts";
import { configSchema } from "../../config/schema.ts";
import type { Candidate, ExamplePool } from "../../connections/pool/port.ts";
import { VectorError } from "../../connections/vectors/port.ts";
import type { StepContext } from "../../runtime/step.ts";
import type { Embedded, SelectedExample } from "../flow.ts";
import { chooseExamples, similarityAsHelpfulness } from "./choose.ts";
import { embedded, example } from "./fixtures.ts";
import { createSelect, type SelectDependencies } from "./select.ts";

const defaults = configSchema.shape.selection.parse({});
const context: StepContext = {
  signal: new AbortController().signal,
  log: pino({ level: "silent" }),
  deadline: 60_000,
  timings: [],
};
const poolOf = (candidates: Candidate[]): Pick<ExamplePool, "nearest"> => ({ nearest: async () => candidates });

async function select(over: Partial<SelectDependencies>, input: Embedded = embedded()) {
  const step = createSelect({
    pool: poolOf([]),
    selection: defaults,
    arms: () => [{ name: "cheap", examples: true }],
    clock: () => 7,
    ...over,
  });
  const outcome = await step(input, context);
  if (outcome.kind !== "ok") throw new Error(`the step ended with ${outcome.kind}`);
  return outcome.value;
}
const ids = (examples: SelectedExample[] | undefined): string[] => (examples ?? []).map((one) => one.id);

test("asks for the candidates of the request's own domain, now", async () => {
  const asked: unknown[] = [];
  await select({
    pool: {
      nearest: async (...given) => {
        asked.push(given);
        return [];
      },
    },
  });
  expect(asked).toEqual([["acme/shell", Float32Array.of(1, 0), 32, 7]]);
});

test("the most helpful stands last; arms without examples get none", async () => {
  const candidates = [0.9, 0.5, 0.7].map((similarity, i) => ({ example: example(`${i}`), similarity }));
  const value = await select({
    pool: poolOf(candidates),
    arms: () => [
      { name: "cheap", examples: true },
      { name: "dear", examples: false },
    ],
  });
  expect(ids(value.examplesByArm.get("cheap"))).toEqual(["1", "2", "0"]);
  expect(value.examplesByArm.get("dear")).toEqual([]);
  expect(value).toMatchObject({ threshold: 0.3, exploredThreshold: null, degraded: [] });
  expect(value.examplesByArm.get("cheap")?.at(-1)).toEqual({
    id: "0",
    request: "request 0",
    response: "response 0",
    similarity: 0.9,
    helpfulness: 0.9,
    tokens: 16,
    explored: false,
  });
});

test("a proxy's helpfulness decides, for each arm its own", async () => {
  const candidates = [0.9, 0.5].map((similarity, i) => ({ example: example(`${i}`), similarity }));
  const value = await select({
    pool: poolOf(candidates),
    arms: () => [
      { name: "cheap", examples: true },
      { name: "dear", examples: true },
    ],
    helpfulness: ({ similarity }, arm) => (arm === "dear" ? 1 - similarity : similarity),
  });
  expect(ids(value.examplesByArm.get("cheap"))).toEqual(["1", "0"]);
  expect(ids(value.examplesByArm.get("dear"))).toEqual(["1"]);
});

test("an example made from this very request is not shown; one with the same request text is", async () => {
  const source = { arm: "a", model: "m", requestId: "request-1" };
  const candidates = [
    { example: example("own", { source }), similarity: 1 },
    { example: example("same", { request: "list all files" }), similarity: 1 },
  ];
  expect(ids((await select({ pool: poolOf(candidates) })).examplesByArm.get("cheap"))).toEqual(["same"]);
});

test("of examples with the same answer only the most helpful is shown", async () => {
  const candidates = [
    { example: example("a", { response: "ls -la\n" }), similarity: 0.8 },
    { example: example("b", { response: "ls -la" }), similarity: 0.9 },
  ];
  expect(ids((await select({ pool: poolOf(candidates) })).examplesByArm.get("cheap"))).toEqual(["b"]);
});

test("a huge example never enters, and smaller ones take its place", async () => {
  const candidates = [
    { example: example("huge", { response: "x".repeat(1_000_000) }), similarity: 1 },
    { example: example("small"), similarity: 0.5 },
  ];
  expect(ids((await select({ pool: poolOf(candidates) })).examplesByArm.get("cheap"))).toEqual(["small"]);
});

test("without a vector, without examples wanted, or without the index there are none", async () => {
  const never: Pick<ExamplePool, "nearest"> = { nearest: () => Promise.reject(new Error("must not be asked")) };
  const none = await select({ pool: never }, embedded({ embedding: null, degraded: ["embedder"] }));
  expect(none.degraded).toEqual(["embedder"]);
  expect(none.examplesByArm.get("cheap")).toEqual([]);
  await select({ pool: never, selection: { ...defaults, examples: 0 } });
  await select({ pool: never, arms: () => [{ name: "dear", examples: false }] });

  const lost = new VectorError("index_unavailable", "the owner died");
  const value = await select({ pool: { nearest: () => Promise.reject(lost) } });
  expect(value.degraded).toEqual(["examples"]);
  expect(value.examplesByArm.get("cheap")).toEqual([]);
  await expect(select({ pool: never })).rejects.toThrow("must not be asked");
});

test("whatever the candidates, the choice keeps every limit and misses nothing that fits", () => {
  const candidate = fc.record({
    similarity: fc.double({ min: -1, max: 1, noNaN: true }),
    id: fc.uuid(),
    response: fc.string({ maxLength: 80 }),
    own: fc.boolean(),
  });
  const limits = fc.record({
    examples: fc.integer({ min: 0, max: 8 }),
    threshold: fc.double({ min: 0, max: 1, noNaN: true }),
    minimumSimilarity: fc.double({ min: -1, max: 1, noNaN: true }),
    tokenBudget: fc.integer({ min: 0, max: 200 }),
  });
  fc.assert(
    fc.property(fc.uniqueArray(candidate, { maxLength: 20, selector: (one) => one.id }), limits, (given, limit) => {
      const candidates = given.map(({ similarity, id, response, own }) => ({
        example: example(id, { response, source: { arm: "a", model: "m", requestId: own ? "me" : null } }),
        similarity,
      }));
      const choose = (from: Candidate[]): SelectedExample[] =>
        chooseExamples(from, "me", "cheap", limit, similarityAsHelpfulness);
      const chosen = choose(candidates);
      const total = chosen.reduce((sum, one) => sum + one.tokens, 0);
      expect(chosen.length).toBeLessThanOrEqual(limit.examples);
      expect(total).toBeLessThanOrEqual(limit.tokenBudget);
      expect(new Set(chosen.map((one) => one.response.trim())).size).toBe(chosen.length);
      chosen.forEach((one, i) => {
        const from = candidates.find((each) => each.example.id === one.id);
        expect(from?.example.source.requestId).toBe(null);
        expect(one.similarity).toBeGreaterThanOrEqual(limit.minimumSimilarity);
        expect(one.helpfulness).toBeGreaterThanOrEqual(limit.threshold);
        expect(one.helpfulness).toBeGreaterThanOrEqual(chosen[i - 1]?.helpfulness ?? 0);
      });
      const answers = new Set(chosen.map((one) => one.response.trim()));
      const shown = new Set(chosen.map((one) => one.id));
      const left = limit.tokenBudget - total;
      if (chosen.length < limit.examples)
        for (const { example: missed, similarity } of candidates) {
          if (shown.has(missed.id) || missed.source.requestId === "me") continue;
          if (similarity < Math.max(limit.threshold, limit.minimumSimilarity)) continue;
          expect(answers.has(missed.response.trim()) || exampleTokens(missed.request, missed.response) > left).toBe(
            true,
          );
        }
      // The order in which candidates come does not matter.
      expect(choose(candidates.toReversed())).toEqual(chosen);
    }),
  );
});
