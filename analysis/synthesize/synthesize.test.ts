import { expect, test } from "vitest";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { Arm } from "../../arms/arm.ts";
import { createHashEmbedder } from "../../connections/embedder/hash.testing.ts";
import type { Observation } from "../../schemas/types.ts";
import { readQuestion } from "./questions.ts";
import { secureNormal } from "./normal.ts";
import { synthesize, type SynthesisDependencies, type SynthesisRun } from "./synthesize.ts";
import { NO_USAGE } from "../../schemas/no-usage.ts";

const marker = "zebrafinch";
const subjects = "tar archives|a vegetable soup|the football season|a poem of spring|the planets|an old car".split("|");
const random = splitmix64(3);
const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

interface Row {
  run_id: string;
  round: number;
  noise: number;
  chosen: string[];
}

/** A model that knows some subjects, and a table of rounds. */
function world({ failsAfter = Infinity } = {}) {
  const rows: Row[] = [];
  const published: Observation[] = [];
  const prompts: string[] = [];
  let calls = 0;
  const arm: Pick<Arm, "answer" | "concurrency" | "name" | "model"> = {
    ...{ name: "large", model: "m", concurrency: 4 },
    async answer({ pieces }) {
      const text = pieces[0]!.text;
      prompts.push(text);
      if (++calls > failsAfter)
        return { kind: "failure", code: "endpoint_refused", message: "", attempts: 1, retriable: true };
      const subject = subjects.find((one) => text.includes(one)) ?? subjects[calls % subjects.length]!;
      const reported =
        text.startsWith("Write one") || text.startsWith("This is")
          ? `"What of ${subject}, ${calls}?"\n`
          : `of ${subject}`;
      const usage = { ...NO_USAGE, prompt: 1, completion: 1 };
      return {
        ...{
          kind: "answer",
          text: reported,
          finishReason: "stop",
          model: "m",
          usage,
          cost: 0,
          attempts: 1,
          queueMs: 0,
        },
        firstTokenMs: null,
      };
    },
  };
  const dependencies: SynthesisDependencies = {
    clickhouse: {
      query: async <T>() =>
        rows.map(({ run_id, round, noise, chosen }) => ({ runId: run_id, round, noise, chosen })) as unknown as T[],
      insert: async (_table: string, some: readonly object[]) => void rows.push(...(some as Row[])),
    },
    ...{ embedder: createHashEmbedder(4_096), writer: arm, answerer: arm, normal, clock: () => 7 },
    privateQuestions: async () =>
      Array.from({ length: 300 }, (_, i) => `How do I unpack tar archives of ${marker} ${i}?`),
    publish: async (observation) => void published.push(observation),
  };
  return { rows, published, prompts, dependencies };
}
const run = (more: Partial<SynthesisRun> = {}): SynthesisRun => ({
  ...{ runId: "run-1", domain: "shell", about: "anything", budget: { epsilon: 4, delta: 1e-6 }, count: 12, rounds: 3 },
  ...{ quality: 0.9, signal: new AbortController().signal },
  ...more,
});

test("what is made is like what was asked, through noise, and the models see nothing of it", async () => {
  const { rows, published, prompts, dependencies } = world();
  const made = await synthesize(dependencies, run());
  expect(made.epsilonSpent).toBeCloseTo(4, 5);
  expect(made.noise).toBeGreaterThan(2);
  expect(rows.map(({ round }) => round)).toEqual([1, 2, 3]);
  const like = published.filter(({ request }) => request.messages[0]!.content.includes("tar archives"));
  // Chance alone gives one of six.
  expect(like.length).toBeGreaterThan(published.length / 2);
  expect(published[0]).toMatchObject({
    ...{ tenant: "+", domain: "shell", quality: 0.9, source: { arm: "large", model: "m", requestId: null } },
    request: { tenant: "+", messages: [{ role: "user" }] },
  });
  expect(JSON.stringify([prompts, published, rows])).not.toContain(marker);
});

test("a budget is spent once: what is left is less by every run, and never comes back", async () => {
  const { dependencies, rows } = world();
  const first = await synthesize(dependencies, run({ epsilon: 2 }));
  expect(first.epsilonSpent).toBeCloseTo(2, 5);
  await expect(synthesize(dependencies, run({ runId: "run-2", epsilon: 4 }))).rejects.toThrow(
    /a run of epsilon 3\.\d+ is left/,
  );
  expect(rows).toHaveLength(3);
  const rest = await synthesize(dependencies, run({ runId: "run-3" }));
  expect(rest.epsilonSpent).toBeCloseTo(4, 5);
  await expect(synthesize(dependencies, run({ runId: "run-4", epsilon: 0.01 }))).rejects.toThrow(
    "a run of epsilon 0.00 is left",
  );
});

test("a run that is broken off goes on with what was chosen, at no further cost", async () => {
  const { dependencies, rows } = world();
  const stop = new AbortController();
  const broken = run({
    signal: stop.signal,
    onProgress: (step) => step.includes("round 3") && stop.abort(new Error("stopped")),
  });
  await expect(synthesize(dependencies, broken)).rejects.toThrow("stopped");
  expect(rows).toHaveLength(2);
  const made = await synthesize(dependencies, run());
  expect(rows.map(({ round, noise }) => [round, noise])).toEqual([1, 2, 3].map((round) => [round, made.noise]));
  expect(made.epsilonSpent).toBeCloseTo(4, 5);
  // A repeated, complete run asks only for the answers again.
  const again = await synthesize(dependencies, run());
  expect(rows).toHaveLength(3);
  expect(again.published).toBe(made.published);
});

test("a run that goes on with more rounds than it began with pays for them, or is refused", async () => {
  const { dependencies, rows } = world();
  await synthesize(dependencies, run());
  await expect(synthesize(dependencies, run({ rounds: 9 }))).rejects.toThrow("of the budget of shell (epsilon 4)");
  expect(rows).toHaveLength(3);
});

test("an arm that is away is said to be, before anything is spent", async () => {
  const { dependencies, rows } = world({ failsAfter: 0 });
  await expect(synthesize(dependencies, run())).rejects.toThrow("wrote none");
  expect(rows).toEqual([]);
});

test.each([
  ['"What is it?"\nBecause', "What is it?"],
  ["\n 1. How many?", "How many?"],
  ["Question: - why?", "- why?"],
  ["“Où est-ce?”", "Où est-ce?"],
  ["...\n\n", null],
  ["x".repeat(10_000), "x".repeat(500)],
])("of %j the question is %j", (text, question) => {
  expect(readQuestion(text)).toBe(question);
});

test("the noise is as wide as it is said to be", () => {
  const draws = Array.from({ length: 20_000 }, secureNormal);
  const mean = draws.reduce((sum, x) => sum + x, 0) / draws.length;
  const square = draws.reduce((sum, x) => sum + x * x, 0) / draws.length;
  // Six standard errors.
  expect(Math.abs(mean)).toBeLessThan(6 / Math.sqrt(draws.length));
  expect(Math.abs(square - 1)).toBeLessThan(6 * Math.sqrt(2 / draws.length));
});
