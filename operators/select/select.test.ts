import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { HELPFULNESS_FEATURES } from "../../algorithms/selection/helpfulness-features.ts";
import { traitsOf } from "../../algorithms/selection/example-traits.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { createSharedDomains } from "../../algorithms/selection/shared-domains.ts";
import { turnsKey } from "../../algorithms/text/conversation-key.ts";
import { configSchema } from "../../config/schema.ts";
import type { Candidate, ExamplePool } from "../../state/examples/port.ts";
import { HelpfulnessError } from "../../connections/helpfulness/port.ts";
import { createPromptMemory } from "../../state/prefixes/prompt-memory.ts";
import { VectorError } from "../../state/vectors/port.ts";
import type { StepContext } from "../../runtime/step.ts";
import type { Embedded, Selected } from "../flow.ts";
import { exampleHash } from "../../state/inventory/table.ts";
import { arm, candidate, embedded } from "./fixtures.testing.ts";
import type { RatingModel } from "./rate.ts";
import { createSelect, type SelectDependencies } from "./select.ts";

const defaults = configSchema.shape.selection.parse({ explore: { trials: 0, thresholds: 0, orders: 0 } });
const context: StepContext = {
  signal: new AbortController().signal,
  log: pino({ level: "silent" }),
  deadline: 60_000,
  timings: [],
};
const poolOf = (candidates: Candidate[]): Pick<ExamplePool, "nearest"> => ({ nearest: async () => candidates });
/** Gives what `h` says of each row; rows hold the similarity first and the arm's cost last. */
const modelOf = (h: (similarity: number, armCost: number) => number, version = 3): RatingModel => ({
  version,
  score: async (features) =>
    Float32Array.from({ length: features.length / HELPFULNESS_FEATURES }, (_, row) => {
      const at = row * HELPFULNESS_FEATURES;
      return h(features[at]!, features[at + HELPFULNESS_FEATURES - 1]!);
    }),
});
/** With these draws, in order, and then 0.99. */
const draws = (...values: number[]) => {
  const left = [...values];
  return () => left.shift() ?? 0.99;
};

async function select(over: Partial<SelectDependencies>, input: Embedded = embedded()): Promise<Selected> {
  const step = createSelect({
    pool: poolOf([]),
    selection: defaults,
    arms: () => [arm("small")],
    clock: () => 7,
    random: () => 0.99,
    ...over,
  });
  const outcome = await step(input, context);
  if (outcome.kind !== "ok") throw new Error(`the step ended with ${outcome.kind}`);
  return outcome.value;
}
const ids = (value: Selected, of = "small"): string[] => (value.examplesByArm.get(of) ?? []).map(({ id }) => id);
const candidates = [0.9, 0.5, 0.7].map((similarity, i) => candidate(`${i}`, similarity, {}, i));

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
  expect(asked).toEqual([["acme/shell", embedded().embedding, 32, 7]]);
});

test("an example that an arm has in its cache wins against one that is as helpful, for that arm", async () => {
  const found = await select({
    pool: poolOf(candidates),
    selection: { ...defaults, examples: 1 },
    arms: () => [arm("small"), arm("large")],
    helpfulnessModel: () => modelOf((similarity) => 0.8 + similarity / 1_000),
    caches: { tells: () => true, has: (name, hash) => name === "large" && hash[0] === exampleHash("1")[0] },
  });
  expect([ids(found), ids(found, "large")]).toEqual([["0"], ["1"]]);
  expect(found.examplesByArm.get("large")).toMatchObject([{ id: "1", cachedBonus: defaults.cachedBonus }]);
});

describe("of tenants that share a domain", () => {
  const sharing = createSharedDomains({ shell: { tenants: ["acme", "beta"] } });
  const of = (id: string, similarity: number, tenant: string, domain = "+/shell"): Candidate =>
    candidate(id, similarity, { tenant, domain }, Math.round(10 * similarity) % 8);
  const domains: Record<string, Candidate[]> = {
    "acme/shell": [candidate("own", 0.6, {}, 6)],
    "+/shell": [of("theirs", 0.8, "beta"), of("left", 0.9, "gamma"), of("ours", 0.7, "acme")],
  };
  const pool: Pick<ExamplePool, "nearest"> = { nearest: async (domain) => domains[domain] ?? [] };

  test("the nearest of both domains are shown, the best last, but nothing of a tenant that does not share any more", async () => {
    expect(ids(await select({ pool, sharing }))).toEqual(["own", "ours", "theirs"]);
    expect(ids(await select({ pool, sharing, selection: { ...defaults, candidates: 2 } }))).toEqual(["theirs"]);
    expect(ids(await select({ pool }))).toEqual(["own"]);
  });

  test("an example of the shared domain that stands elsewhere is another's", async () => {
    const misplaced = poolOf([of("beta's own", 0.9, "beta", "beta/shell")]);
    expect(ids(await select({ pool: misplaced, sharing }))).toEqual([]);
    expect(ids(await select({ pool: poolOf([of("theirs", 0.9, "beta")]) }))).toEqual([]);
  });

  test("no answer of another tenant is given as it is", async () => {
    const settings = { tenants: ["*"], minimumSimilarity: 0, minimumQuality: 0, limit: 0.1, verifyShare: 0 };
    const reuse = { ...arm("reuse"), reuse: settings };
    const same = { request: embedded().question };
    const found = await select({
      pool: {
        nearest: async (domain) =>
          domain === "+/shell" ? [candidate("theirs", 1, { ...same, tenant: "beta", domain })] : [],
      },
      sharing,
      arms: () => [arm("small"), reuse],
    });
    expect([ids(found), ids(found, "reuse")]).toEqual([["theirs"], []]);
  });
});

describe("without a helpfulness model", () => {
  test("similarity stands in for helpfulness, and its minimum for the threshold", async () => {
    const value = await select({
      pool: poolOf(candidates),
      arms: () => [arm("small"), arm("large", { examples: false })],
      threshold: () => 0.99,
    });
    expect(ids(value)).toEqual(["1", "2", "0"]);
    expect(ids(value, "large")).toEqual([]);
    expect(value).toMatchObject({ threshold: 0.3, exploredThreshold: null, helpfulnessVersion: 0, degraded: [] });
    const best = value.examplesByArm.get("small")?.at(-1);
    expect(best).toMatchObject({ id: "0", helpfulness: Math.fround(0.9), tokens: 16, explored: false });
    // What the first helpfulness model is trained on.
    expect(best?.features).toHaveLength(HELPFULNESS_FEATURES);
  });

  test("thresholds are not explored, examples are tried", async () => {
    const selection = { ...defaults, explore: { trials: 0.1, thresholds: 0.1, orders: 0 } };
    const pool = poolOf(candidates);
    expect(await select({ pool, selection, random: draws(0.15) })).toMatchObject({ exploredThreshold: null });
    const tried = await select({ pool, selection, random: draws(0.05, 0.4, 0.6) });
    expect(tried.trialByArm.get("small")).toMatchObject({ id: "1", shown: false, probability: 0.5 });
    expect(ids(tried)).toEqual(["2", "0"]);
  });
});

describe("with a helpfulness model", () => {
  const arms = () => [arm("small", { cost: 0 }), arm("large", { cost: 1 })];

  test("its prediction decides, for each arm its own, in one call", async () => {
    let calls = 0;
    const model = modelOf((similarity, cost) => (cost > 0 ? 1 - similarity : similarity));
    const helpfulnessModel = (): RatingModel => ({
      version: 3,
      score: (features) => {
        calls++;
        return model.score(features);
      },
    });
    const value = await select({ pool: poolOf(candidates), arms, helpfulnessModel, threshold: () => 0.45 });
    expect(ids(value)).toEqual(["1", "2", "0"]);
    expect(ids(value, "large")).toEqual(["1"]);
    expect(value).toMatchObject({ threshold: 0.45, exploredThreshold: null, helpfulnessVersion: 3, degraded: [] });
    expect(calls).toBe(1);
  });

  test("a share of the requests is served under another threshold", async () => {
    const selection = { ...defaults, explore: { trials: 0.1, thresholds: 0.1, orders: 0 } };
    const helpfulnessModel = () => modelOf((similarity) => similarity - 0.15);
    const value = await select({ pool: poolOf(candidates), helpfulnessModel, selection, random: draws(0.15, 0.99) });
    expect(value).toMatchObject({ threshold: 0.5, exploredThreshold: 0.6 });
    expect(ids(value)).toEqual(["0"]);
    expect(value.trialByArm.size).toBe(0);
  });

  test("a request is in at most one of the shares, and in none where there is nothing to learn", async () => {
    const selection = { ...defaults, explore: { trials: 0.5, thresholds: 0.5, orders: 0 } };
    const helpfulnessModel = () => modelOf((similarity) => similarity);
    for (let i = 0; i < 10; i++) {
      const value = await select({
        pool: poolOf(candidates),
        helpfulnessModel,
        selection,
        random: draws(i / 10, 0.3, 0.3),
      });
      expect(value.trialByArm.size === 1).toBe(i < 5);
      expect(value.exploredThreshold !== null).toBe(i >= 5);
      const empty = await select({ pool: poolOf([]), helpfulnessModel, selection, random: draws(i / 10, 0.3, 0.3) });
      expect(empty).toMatchObject({ exploredThreshold: null, trialByArm: new Map() });
    }
  });

  test.each([
    ["fails", { version: 3, score: () => Promise.reject(new HelpfulnessError("unavailable", "gone")) }],
    ["never answers", { version: 3, score: () => new Promise<never>(() => undefined) }],
    ["gives too few values", { version: 3, score: () => Promise.resolve(new Float32Array(1)) }],
  ])("when it %s similarity stands in, and degraded says so", async (_, model) => {
    const value = await select({
      pool: poolOf(candidates),
      arms,
      helpfulnessModel: () => model,
      threshold: () => 0.95,
    });
    expect(value).toMatchObject({ degraded: ["helpfulness"], helpfulnessVersion: 0, threshold: 0.3 });
    expect(ids(value)).toEqual(["1", "2", "0"]);
  });

  test("what it can't predict is not shown", async () => {
    const helpfulnessModel = () => modelOf((similarity) => (similarity > 0.8 ? Number.NaN : similarity));
    expect(ids(await select({ pool: poolOf(candidates), helpfulnessModel }))).toEqual(["1", "2"]);
  });

  test("it knows who wrote an example, and how its uses went", async () => {
    let seen: Float32Array | undefined;
    const helpfulnessModel = (): RatingModel => ({
      version: 1,
      score: async (features) => {
        seen ??= features;
        return new Float32Array(features.length / HELPFULNESS_FEATURES);
      },
    });
    const source = { arm: "large", model: "large-model", requestId: null };
    const pool = poolOf([candidate("a", 0.8, { source })]);
    await select({
      pool,
      arms: () => [arm("small"), arm("large", { examples: false, cost: 0.75 })],
      helpfulnessModel,
      outcomes: () => ({ uses: 4, outcome: 0.25 }),
    });
    expect(Array.from(seen ?? [])).toEqual(expect.arrayContaining([0.75, 0.25]));
  });
});

test("an example made from this very request is not shown; one with the same request text is", async () => {
  const source = { arm: "a", model: "m", requestId: "request-1" };
  const found = [candidate("own", 1, { source }), candidate("same", 1, { request: "list all files" })];
  expect(ids(await select({ pool: poolOf(found) }))).toEqual(["same"]);
});

test("poisoned examples never enter", async () => {
  const found = [
    candidate("huge", 1, { response: "x".repeat(1_000_000) }),
    candidate("nul", 1, { response: "ls\0" }),
    candidate("escape", 1, { request: "\x1b[2J list" }),
    candidate("empty", 1, { response: " \n" }),
    candidate("nan", Number.NaN),
    { ...candidate("broken", 1), vector: new Float32Array(8).fill(Number.NaN) },
    { ...candidate("short", 1), vector: Float32Array.of(1) },
    candidate("good", 0.5, { response: "ls\t-l\r\n# done" }),
  ];
  expect(ids(await select({ pool: poolOf(found) }))).toEqual(["good"]);
});

test("an arm's own budget and its context window bound what it is shown", async () => {
  const arms = () => [
    arm("small"),
    arm("tight", { tokenBudget: 20 }),
    arm("narrow", { contextTokens: 64 + 40, maxTokens: 64 }),
    arm("full", { contextTokens: 64, maxTokens: 64 }),
  ];
  const value = await select({ pool: poolOf(candidates), arms });
  expect([...value.examplesByArm.values()].map((examples) => examples.length)).toEqual([3, 1, 1, 0]);
});

test("without a vector, without examples wanted, or without the index there are none", async () => {
  const never: Pick<ExamplePool, "nearest"> = { nearest: () => Promise.reject(new Error("must not be asked")) };
  const none = await select({ pool: never }, embedded({ embedding: null, degraded: ["embedder"] }));
  expect(none.degraded).toEqual(["embedder"]);
  expect(ids(none)).toEqual([]);
  await select({ pool: never, selection: { ...defaults, examples: 0 } });
  await select({ pool: never, arms: () => [arm("large", { examples: false })] });

  const lost = new VectorError("index_unavailable", "the owner died");
  const value = await select({ pool: { nearest: () => Promise.reject(lost) } });
  expect(value.degraded).toEqual(["examples"]);
  expect(ids(value)).toEqual([]);
  await expect(select({ pool: never })).rejects.toThrow("must not be asked");
});

test("what the pool knows of its examples changes nothing: it is asked for less often", async () => {
  const found = [
    ...candidates,
    candidate("unsafe", 0.8, { response: "ls\u001b" }, 3),
    { ...candidate("not unit", 0.8, {}, 4), vector: new Float32Array(8).fill(0.5) },
    candidate("long", 0.8, { response: "word ".repeat(2_000) }, 5),
  ];
  const known = found.map((one): Candidate => ({ ...one, traits: traitsOf(one.example, one.vector) }));
  for (const helpfulnessModel of [() => null, () => modelOf((similarity, cost) => similarity / (1 + cost))]) {
    const of = (pool: Candidate[]) =>
      select({ pool: poolOf(pool), arms: () => [arm("small"), arm("large", { cost: 1 })], helpfulnessModel });
    expect(await of(known)).toEqual(await of(found));
  }
});

describe("the order of the examples", () => {
  const arms = () => [arm("small"), arm("engine", { order: "shared_prefix" })];
  const pool = {
    nearest: async () => [0.9, 0.5, 0.7].map((similarity, i) => candidate(`${i}`, similarity, {}, i)),
    get: (id: string) => candidate(id, 0.9).example,
  };
  /** A selection after a prompt with these examples. */
  const remembered = (...shown: string[]) => {
    const memory = createPromptMemory(() => 7);
    const examples = shown.map((id) => ({ id, similarity: 0.9, helpfulness: 0.8, tokens: 10 }));
    const conversation = turnsKey("acme", embedded().request.messages);
    memory.note("acme/shell", conversation, { arm: "engine", examples }, true);
    return memory;
  };

  test("is the most helpful last, whatever the arm, as long as no prefix is cached", async () => {
    const value = await select({ pool, arms });
    expect([ids(value), ids(value, "engine")]).toEqual([
      ["1", "2", "0"],
      ["1", "2", "0"],
    ]);
    expect(value.orderByArm).toEqual(
      new Map([
        ["small", { order: "best_last", orderProbability: 1 }],
        ["engine", { order: "shared_prefix", orderProbability: 1 }],
      ]),
    );
  });

  test("begins with what an earlier prompt began with, for which an example may lose a little", async () => {
    expect(ids(await select({ pool, arms, memory: remembered("0", "1") }), "engine")).toEqual(["0", "1", "2"]);
    const near = { nearest: async () => [0.9, 0.84, 0.8].map((similarity, i) => candidate(`${i}`, similarity, {}, i)) };
    const two = (prefixBonus: number) => ({ ...defaults, examples: 2, prefixBonus });
    const memory = remembered("2");
    const given = { pool: near, arms, memory };
    expect(ids(await select({ ...given, selection: two(0.05) }), "engine")).toEqual(["2", "0"]);
    expect(ids(await select({ ...given, selection: two(0.01) }), "engine")).toEqual(["1", "0"]);
    expect(ids(await select({ ...given, selection: two(0) }), "engine")).toEqual(["1", "0"]);
    expect(ids(await select({ ...given, selection: two(0.05) }))).toEqual(["1", "0"]);
  });

  test("is random on a share of the requests, with its probability", async () => {
    const selection = { ...defaults, explore: { ...defaults.explore, orders: 0.1 } };
    const usual = await select({ pool, arms, selection });
    expect(usual.orderByArm.get("engine")).toEqual({ order: "shared_prefix", orderProbability: 0.9 });
    const orders = new Set<string>();
    for (let i = 0; i < 40; i++) {
      const random = splitmix64(i);
      const drawn = await select({
        pool,
        arms,
        selection,
        random: () => random() * 0.0999 + (random() > 0.5 ? 0.9 : 0),
      });
      const { order, orderProbability } = drawn.orderByArm.get("engine")!;
      expect([order === "random" ? 0.1 : 0.9, ids(drawn, "engine").toSorted()]).toEqual([
        orderProbability,
        ["0", "1", "2"],
      ]);
      if (order === "random") orders.add(ids(drawn, "engine").join());
    }
    expect(orders.size).toBeGreaterThan(1);
  });

  test("a later turn is shown what its conversation began with, and learns nothing else", async () => {
    const memory = remembered("7", "0");
    const { request } = embedded();
    const more = [
      { role: "assistant" as const, content: "ls" },
      { role: "user" as const, content: "with sizes" },
    ];
    const later = embedded({ request: { ...request, messages: [...request.messages, ...more] } });
    const selection = { ...defaults, explore: { trials: 0.5, thresholds: 0.5, orders: 0.5 } };
    const value = await select({ pool, arms, memory, selection, random: () => 0.1 }, later);
    expect(ids(value, "engine")).toEqual(["7", "0"]);
    // Neither an order nor a threshold was drawn for it; another arm's trial is its own.
    expect(value.orderByArm.get("engine")).toEqual({ order: "kept", orderProbability: 1 });
    expect([...value.trialByArm.keys()]).toEqual(["small"]);
    expect(ids(value).toSorted()).toEqual(["0", "1", "2"]);
    // Repeating the first question begins a new conversation.
    expect(ids(await select({ pool, arms, memory }), "engine")).not.toContain("7");
  });
});
