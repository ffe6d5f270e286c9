import { expect, it } from "vitest";
import { BUDGET, createBudgetTable, decodeBudgetPolicy } from "../../state/policies/budget.ts";
import { createPolicyTopic } from "../../state/policies/topic.testing.ts";
import { createSplit } from "../solve/budget.ts";
import { createPublishBudget, splitInForce } from "./publish-budget.ts";

const fixed = { responses: 400, examples: 600, caches: {} };
const worth = { responses: { gain: 5, loss: 4 }, examples: { gain: 0, loss: 1 }, caches: {} };
const split = createSplit({ rules: { floor: 0.1, step: 0.05 } });

it("moves a step, publishes it, and is followed by those who have as many bytes in all", async () => {
  const topic = createPolicyTopic();
  const policies = topic.writer([BUDGET]).of(BUDGET);
  const publish = createPublishBudget({ policies, fixed, clock: () => 7 });
  const first = split({ worth, before: splitInForce(policies, fixed) }).split;
  const record = await publish(first);
  expect(record).toMatchObject({
    name: BUDGET,
    version: 1,
    kind: "budget/1",
    metrics: { responses: 450, examples: 550, saved: 4 },
  });
  expect(splitInForce(policies, fixed)).toEqual({ responses: 450, examples: 550, caches: {} });
  const table = createBudgetTable(fixed);
  expect(table.current()).toEqual(fixed);
  expect(table.apply(record!)).toBeNull();
  expect(table.current()).toEqual({ responses: 450, examples: 550, caches: {} });
  table.remove(BUDGET);
  expect(table.current()).toEqual(fixed);
  expect(decodeBudgetPolicy(record!, { responses: 1, examples: 1, caches: {} })).toMatchObject({
    problem: expect.stringContaining("1000 bytes"),
  });
  // What was decided about a split that is not in force any more is not published.
  expect(await publish(first)).toBeNull();
});

it("publishes nothing where nothing moves, nor after a revert", async () => {
  const policies = createPolicyTopic().writer([BUDGET]).of(BUDGET);
  const publish = createPublishBudget({ policies, fixed, clock: () => 7 });
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
  const policies = createPolicyTopic().writer([BUDGET]).of(BUDGET);
  const publish = createPublishBudget({ policies, fixed: shared, clock: () => 7 });
  const caches = { small: { gain: 9, loss: 9 }, examples: { gain: 1, loss: 0 } };
  const first = split({ worth: { ...worth, caches }, before: shared }).split;
  expect(first.split).toEqual({ responses: 400, examples: 500, caches: { small: 600, large: 500, examples: 0 } });
  const record = await publish(first);
  expect(record).toMatchObject({
    kind: "budget/2",
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
  const policies = createPolicyTopic().writer([BUDGET]).of(BUDGET);
  const old = await createPublishBudget({ policies, fixed, clock: () => 7 })(split({ worth, before: fixed }).split);
  expect(JSON.parse(old!.body)).toEqual({ responses: 450, examples: 550 });
  expect(decodeBudgetPolicy(old!, fixed)).toEqual({ responses: 450, examples: 550, caches: {} });
  // As many bytes in all, but an arm has its share now.
  const joined = { responses: 400, examples: 500, caches: { small: 100 } };
  expect(decodeBudgetPolicy(old!, joined)).toMatchObject({ problem: expect.stringContaining("no arm") });
  const body = JSON.stringify({ responses: 0, examples: 0, caches: { small: 1_000 } });
  const fresh = { ...old!, kind: "budget/2", body };
  expect(decodeBudgetPolicy(fresh, joined)).toEqual({ responses: 0, examples: 0, caches: { small: 1_000 } });
  expect(decodeBudgetPolicy(fresh, fixed)).toMatchObject({ problem: expect.stringContaining("small") });
  expect(decodeBudgetPolicy({ ...fresh, kind: "budget/1" }, joined)).toHaveProperty("problem");
  expect(decodeBudgetPolicy({ ...old!, kind: "budget/2" }, fixed)).toHaveProperty("problem");
  expect(decodeBudgetPolicy({ ...old!, kind: "budget/3" }, fixed)).toHaveProperty("problem");
});
