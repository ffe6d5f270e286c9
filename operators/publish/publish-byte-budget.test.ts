import { expect, it } from "vitest";
import { BYTE_BUDGET, createByteBudgetTable, decodeByteBudgetPolicy } from "../../state/policies/byte-budget.ts";
import { createPolicyTopic } from "../../state/policies/topic.testing.ts";
import { createSplit } from "../solve/byte-budget.ts";
import { createPublishByteBudget, splitInForce } from "./publish-byte-budget.ts";

const fixed = { responses: 400, examples: 600, caches: {} };
const worth = { responses: { gain: 5, loss: 4 }, examples: { gain: 0, loss: 1 }, caches: {} };
const split = createSplit({ rules: { floor: 0.1, step: 0.05 } });

it("moves a step, publishes it, and is followed by those who have as many bytes in all", async () => {
  const topic = createPolicyTopic();
  const policies = topic.writer([BYTE_BUDGET]).of(BYTE_BUDGET);
  const publish = createPublishByteBudget({ policies, fixed, clock: () => 7 });
  const first = split({ worth, before: splitInForce(policies, fixed) }).split;
  const record = await publish(first);
  expect(record).toMatchObject({
    name: BYTE_BUDGET,
    version: 1,
    kind: "byte-budget/1",
    metrics: { responses: 450, examples: 550, saved: 4 },
  });
  expect(splitInForce(policies, fixed)).toEqual({ responses: 450, examples: 550, caches: {} });
  const table = createByteBudgetTable(fixed);
  expect(table.current()).toEqual(fixed);
  expect(table.apply(record!)).toBeNull();
  expect(table.current()).toEqual({ responses: 450, examples: 550, caches: {} });
  table.remove(BYTE_BUDGET);
  expect(table.current()).toEqual(fixed);
  expect(decodeByteBudgetPolicy(record!, { responses: 1, examples: 1, caches: {} })).toMatchObject({
    problem: expect.stringContaining("1000 bytes"),
  });
  // What was decided about a split that is not in force any more is not published.
  expect(await publish(first)).toBeNull();
});

it("publishes nothing where nothing moves, nor after a revert", async () => {
  const policies = createPolicyTopic().writer([BYTE_BUDGET]).of(BYTE_BUDGET);
  const publish = createPublishByteBudget({ policies, fixed, clock: () => 7 });
  const even = { responses: { gain: 1, loss: 1 }, examples: { gain: 1, loss: 1 }, caches: {} };
  expect(await publish(split({ worth: even, before: fixed }).split)).toBeNull();
  const one = await publish(split({ worth, before: fixed }).split);
  await policies.append((version) => ({ ...one!, version, revertOf: 1 }));
  expect(await publish(split({ worth, before: splitInForce(policies, fixed) }).split)).toBeNull();
});

it("keeps the floors", () => {
  const { split: found } = split({ worth, before: { responses: 870, examples: 130, caches: {} } });
  expect(found).toMatchObject({ moved: { from: null }, split: { responses: 870, examples: 130, caches: {} } });
});

const shared = { responses: 400, examples: 600, caches: { small: 500, large: 500, examples: 0 } };

it("moves bytes between the caches of arms as well, and leaves an arm alone of which nothing is known", async () => {
  const policies = createPolicyTopic().writer([BYTE_BUDGET]).of(BYTE_BUDGET);
  const publish = createPublishByteBudget({ policies, fixed: shared, clock: () => 7 });
  const caches = { small: { gain: 9, loss: 9 }, examples: { gain: 1, loss: 0 } };
  const first = split({ worth: { ...worth, caches }, before: shared }).split;
  expect(first.split).toEqual({ responses: 400, examples: 500, caches: { small: 600, large: 500, examples: 0 } });
  const record = await publish(first);
  expect(record).toMatchObject({
    kind: "byte-budget/2",
    metrics: { "caches.small": 600, "gain.caches.small": 9, "loss.caches.small": 9, "caches.large": 500 },
  });
  expect(record!.metrics).not.toHaveProperty("gain.caches.large");
  expect(splitInForce(policies, shared)).toEqual(first.split);

  const donated = split({
    worth: { ...worth, caches: { ...caches, small: { gain: 0, loss: 0 } } },
    before: first.split,
  }).split;
  expect(donated.split).toEqual({ responses: 500, examples: 500, caches: { small: 500, large: 500, examples: 0 } });
});

it("reads what was written before caches took part, and nothing that is split among others", async () => {
  const policies = createPolicyTopic().writer([BYTE_BUDGET]).of(BYTE_BUDGET);
  const old = await createPublishByteBudget({ policies, fixed, clock: () => 7 })(split({ worth, before: fixed }).split);
  expect(JSON.parse(old!.body)).toEqual({ responses: 450, examples: 550 });
  expect(decodeByteBudgetPolicy(old!, fixed)).toEqual({ responses: 450, examples: 550, caches: {} });
  // As many bytes in all, but an arm has its share now.
  const joined = { responses: 400, examples: 500, caches: { small: 100 } };
  expect(decodeByteBudgetPolicy(old!, joined)).toMatchObject({ problem: expect.stringContaining("no arm") });
  const body = JSON.stringify({ responses: 0, examples: 0, caches: { small: 1_000 } });
  const fresh = { ...old!, kind: "byte-budget/2", body };
  expect(decodeByteBudgetPolicy(fresh, joined)).toEqual({ responses: 0, examples: 0, caches: { small: 1_000 } });
  expect(decodeByteBudgetPolicy(fresh, fixed)).toMatchObject({ problem: expect.stringContaining("small") });
  expect(decodeByteBudgetPolicy({ ...fresh, kind: "byte-budget/1" }, joined)).toHaveProperty("problem");
  expect(decodeByteBudgetPolicy({ ...old!, kind: "byte-budget/2" }, fixed)).toHaveProperty("problem");
  expect(decodeByteBudgetPolicy({ ...old!, kind: "byte-budget/3" }, fixed)).toHaveProperty("problem");
});
