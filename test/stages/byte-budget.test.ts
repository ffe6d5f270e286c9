// The split of bytes on a real system: requests that are repeated and find no kept answer move
// bytes from the examples, which nobody uses, to the answers; plan obeys; a revert stays.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { policiesOf } from "../../pipelines/policies.ts";
import { revertPolicy } from "../../state/policies/revert.ts";
import { BYTE_BUDGET } from "../../state/policies/byte-budget.ts";
import { policyHistory } from "../../state/policies/history.ts";
import { startSystem, type TestSystem } from "../support/system.ts";

const questions = Array.from({ length: 8 }, (_, i) => `what is the number ${i} of the list`);
/** Kept answers of some 1,100 bytes: four have room. */
const responses = 5_000;
const examples = 95_000;

let system: TestSystem;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-budget-"));
  const file = join(folder, "log.jsonl");
  const lines = questions.map((request) => JSON.stringify({ request, response: `it is ${request}` }));
  await writeFile(file, lines.join("\n"));
  system = await startSystem({
    arms: [{ name: "small", type: "recorded", file, cost: 1 }],
    kafka: { partitions: 2 },
    cache: { enabled: true, budgetBytes: responses },
    curate: { evict: { budgetBytes: examples } },
    memory: { byteBudget: "learnt", everyMs: 1_000 },
  });
});
afterAll(async () => {
  await system.stop();
  await rm(folder, { recursive: true, force: true });
});

const askAll = async (): Promise<string[]> => {
  const sources: string[] = [];
  for (const question of questions) sources.push((await system.ask(question)).source);
  return sources;
};
const versions = () => policyHistory(system.session.clickhouse, BYTE_BUDGET, { limit: 50 });

test("bytes move to the answers while repeats find none, until all have room; then no more", async () => {
  const small = [...(await askAll()), ...(await askAll())];
  expect(small.filter((source) => source === "generated").length).toBeGreaterThan(questions.length);
  // Bytes are worth what repeats ask for between a look at the split and its cut, four seconds
  // before: two rounds alone may both be over before the cut on a fast machine.
  const [newest] = await system.eventually("a version", async () => {
    await askAll();
    const all = await versions();
    return all.length > 0 ? all : undefined;
  });
  expect(newest).toMatchObject({ kind: "byte-budget/1", revertOf: null });
  await system.eventually("all repeats are answered from the cache", async () => {
    await askAll();
    return (await askAll()).every((source) => source === "cache") ? true : undefined;
  });
  for (const { body } of await versions()) {
    const split = JSON.parse(body) as { responses: number; examples: number };
    expect(split.responses + split.examples).toBe(responses + examples);
    expect(split.examples).toBeGreaterThanOrEqual(5_000);
  }
  const steps = (await versions()).map(({ body }) => (JSON.parse(body) as { responses: number }).responses).reverse();
  expect(steps).toEqual(steps.map((_, i) => responses + 5_000 * (i + 1)));
}, 120_000);

test("a revert is in force, and nothing is learnt until it is resumed", async () => {
  const before = await versions();
  const reverted = await revertPolicy(policiesOf(system.session), BYTE_BUDGET, 1, Date.now());
  expect(reverted).toMatchObject({ revertOf: 1, version: before[0]!.version + 1 });
  await askAll();
  await new Promise((resolve) => setTimeout(resolve, 4_000));
  expect((await versions())[0]).toMatchObject({ revertOf: 1, body: before.at(-1)!.body });
}, 60_000);
