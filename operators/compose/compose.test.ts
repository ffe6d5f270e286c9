import { describe, expect, it } from "vitest";
import { turnsKey } from "../../algorithms/text/conversation-key.ts";
import type { Request } from "../../schemas/types.ts";
import { emitsOf } from "../call/decision.ts";
import type { Choice } from "../flow.ts";
import { aChoice, aContext, anExample, decidedOf, NOW, selected } from "../values.testing.ts";
import { createCompose } from "./compose.ts";

const choice = aChoice({ probability: 0.6 });
const compose = createCompose({
  arms: () => [
    { name: "small", examples: true, template: "chat-turns", system: "Answer with one command." },
    { name: "large", examples: false, template: "chat-turns" },
    { name: "guided", examples: true, template: "guided" },
  ],
  documents: {
    get: (tenant, id) =>
      tenant === "acme" && id === "d" ? { tenant, id, title: null, pieces: ["known", "more"] } : undefined,
  },
  limits: { maxPromptBytes: 1_000 },
  clock: () => NOW + 30,
});
async function composed(change: Partial<Choice> = {}, request: Partial<Request> = {}) {
  const examplesByArm = new Map(
    ["small", "large", "guided"].map((arm) => [arm, [anExample("worse"), anExample("best")]]),
  );
  const input = { ...selected({ examplesByArm }, request), choice: { ...choice, ...change } };
  const outcome = await compose(input, aContext());
  if (outcome.kind !== "ok") throw new Error(outcome.kind);
  const decided = decidedOf(outcome.value);
  return { emits: emitsOf(decided), decision: decided.decision };
}

describe("compose", () => {
  it("publishes work for the chosen arm and the decision, by request id", async () => {
    const { emits } = await composed();
    expect(emits).toMatchObject([
      {
        output: "work",
        arm: "small",
        key: "r1",
        record: {
          notAfter: NOW + 120_000,
          plannedAt: NOW + 30,
          planMs: 30,
          pieces: [
            { kind: "system", role: "system", text: "Answer with one command.", id: null },
            { kind: "example", role: "user", text: "question worse", id: "worse" },
            { kind: "example", role: "assistant", text: "answer worse", id: "worse" },
            { kind: "example", role: "user", text: "question best", id: "best" },
            { kind: "example", role: "assistant", text: "answer best", id: "best" },
            { kind: "turn", role: "user", text: "list all files", id: null },
          ],
        },
      },
      {
        output: "decisions",
        key: "r1",
        record: { template: "chat-turns/1", timings: [{ operator: "validate", ms: 0.1 }], degraded: [] },
      },
    ]);
  });

  it("shows no examples to an arm that gets none", async () => {
    const { emits } = await composed({ arm: "large" });
    expect(emits[0]).toMatchObject({ arm: "large", record: { pieces: [{ kind: "turn" }] } });
  });

  it("writes the template of the arm, and records which it was", async () => {
    const { emits, decision: recorded } = await composed({ arm: "guided" });
    expect(recorded.template).toBe("guided/1");
    expect(emits[0]).toMatchObject({
      record: { pieces: [{ kind: "guidance" }, { kind: "guidance" }, {}, {}, {}, {}] },
    });
  });

  it("puts documents behind the system prompt", async () => {
    const { emits, decision } = await composed({}, { documents: ["d"] });
    expect(decision.degraded).toEqual([]);
    expect(emits[0]).toMatchObject({
      record: {
        pieces: [
          { kind: "system" },
          { kind: "document", id: "d", role: "system", text: "known" },
          { kind: "document", id: "d", role: "system", text: "more" },
          { kind: "example" },
          { kind: "example" },
          { kind: "example" },
          { kind: "example" },
          { kind: "turn" },
        ],
      },
    });
  });

  it("takes a chunk that is named by its number", async () => {
    const { emits } = await composed({}, { documents: ["d#2"] });
    const { pieces } = (emits[0] as { record: { pieces: { kind: string; text: string }[] } }).record;
    expect(pieces.filter(({ kind }) => kind === "document").map(({ text }) => text)).toEqual(["more"]);
  });

  it.each([
    ["unknown", { documents: ["d", "e"] }],
    ["another tenant's", { documents: ["d"], tenant: "other" }],
    ["a chunk of another tenant's", { documents: ["d#1"], tenant: "other" }],
    ["a chunk that it has not", { documents: ["d#3"] }],
    ["no chunk", { documents: ["d#0"] }],
    ["a chunk of a chunk", { documents: ["d#1#1"] }],
  ])("refuses a document that is not there: %s", async (_what, more) => {
    const outcome = await compose({ ...selected({}, more), choice }, aContext());
    expect(outcome).toMatchObject({ kind: "refuse", code: "unknown_document" });
    expect(outcome).toMatchObject({ message: expect.stringContaining(JSON.stringify(more.documents.at(-1))) });
  });

  it("says that a document was cut at lengths", async () => {
    const documents = {
      get: (tenant: string, id: string) => ({ tenant, id, title: null, pieces: ["x"], isRough: true }),
    };
    const rough = createCompose({ arms: () => [], documents, limits: { maxPromptBytes: 1_000 }, clock: () => NOW });
    const outcome = await rough({ ...selected({}, { documents: ["d"] }), choice }, aContext());
    expect(outcome).toMatchObject({ kind: "ok", value: { degraded: ["documents_split"] } });
  });

  it("refuses what documents make too large", async () => {
    const messages = [{ role: "user" as const, content: "x".repeat(995) }];
    const input = { ...selected({}, { messages, documents: ["d"] }), choice };
    expect(await compose(input, aContext())).toMatchObject({
      ...{ kind: "refuse", code: "prompt_too_large" },
      message: expect.stringContaining("prompt is too long") as string,
    });
  });

  it("keeps the timings as they were, whatever runs later", async () => {
    const context = aContext();
    const outcome = await compose({ ...selected(), choice }, context);
    if (outcome.kind !== "ok") throw new Error(outcome.kind);
    const { decision } = decidedOf(outcome.value, context);
    context.timings.push({ operator: "call", ms: 1 });
    expect(decision.timings).toEqual([{ operator: "validate", ms: 0.1 }]);
  });
});

it("remembers what the chosen arm's prompt began with, and of a prompt without examples nothing", async () => {
  const noted: unknown[] = [];
  const order = { order: "shared_prefix" as const, orderProbability: 0.98 };
  const remembering = createCompose({
    arms: () => [
      { name: "small", examples: true, template: "chat-turns", order: "shared_prefix" },
      { name: "large", examples: false, template: "chat-turns" },
      { name: "guided", examples: true, template: "guided" },
    ],
    documents: { get: () => undefined },
    limits: { maxPromptBytes: 1_000 },
    clock: () => NOW,
    memory: { note: (...given) => void noted.push(given) },
  });
  const input = selected({
    examplesByArm: new Map(["small", "large", "guided"].map((arm) => [arm, [anExample("b"), anExample("a")]])),
    orderByArm: new Map(["small", "large", "guided"].map((arm) => [arm, order])),
  });
  for (const arm of ["large", "guided", "small"])
    await remembering({ ...input, choice: { ...choice, arm } }, aContext());
  const examples = ["b", "a"].map((id) => ({ id, similarity: 0.8, helpfulness: 0.8, tokens: 10 }));
  const key = turnsKey(input.request.tenant, input.request.messages);
  expect(noted).toEqual([[input.domain, key, { arm: "small", examples }, true]]);
  // What chance chose is not kept for later turns.
  const random = new Map([["small", { order: "random" as const, orderProbability: 0.02 }]]);
  for (const change of [{ exploredThreshold: 0.1 }, { orderByArm: random }])
    await remembering({ ...input, ...change, choice: { ...choice, arm: "small" } }, aContext());
  expect(noted.slice(1)).toEqual(
    [true, false].map((isPrefix): unknown[] => [input.domain, null, expect.anything(), isPrefix]),
  );
  // What a conversation keeps stays, whatever was tried for other arms.
  const kept = new Map([["small", { order: "kept" as const, orderProbability: 1 }]]);
  const later = { ...input, exploredThreshold: 0.1, orderByArm: kept };
  await remembering({ ...later, choice: { ...choice, arm: "small" } }, aContext());
  expect(noted.at(-1)).toEqual([input.domain, key, { arm: "small", examples }, true]);
});
