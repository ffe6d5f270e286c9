import { expect, it } from "vitest";
import { BUDGET, createBudgetTable, decodeBudgetPolicy } from "../../policies/budget.ts";
import { createPolicyTopic } from "../../policies/topic.testing.ts";
import { createSplit } from "../solve/budget.ts";
import { createPublishBudget, splitInForce } from "./publish-budget.ts";

const fixed = { responses: 400, examples: 600 };
const worth = { responses: { gain: 5, loss: 4 }, examples: { gain: 0, loss: 1 } };
const split = createSplit({ rules: { floor: 0.1, step: 0.05 } });

it("moves a step, publishes it, and is followed by those who have as many bytes in all", async () => {
  const topic = createPolicyTopic();
  const policies = topic.writer([BUDGET]).of(BUDGET);
  const publish = createPublishBudget({ policies, fixed, clock: () => 7 });
  const first = split({ worth, before: splitInForce(policies, fixed) }).split;
  const record = await publish(first);
  expect(record).toMatchObject({ name: BUDGET, version: 1, metrics: { responses: 450, examples: 550, saved: 4 } });
  expect(splitInForce(policies, fixed)).toEqual({ responses: 450, examples: 550 });
  const table = createBudgetTable(fixed);
  expect(table.current()).toEqual(fixed);
  expect(table.apply(record!)).toBeNull();
  expect(table.current()).toEqual({ responses: 450, examples: 550 });
  table.remove(BUDGET);
  expect(table.current()).toEqual(fixed);
  expect(decodeBudgetPolicy(record!, { responses: 1, examples: 1 })).toMatchObject({
    problem: expect.stringContaining("1000 bytes"),
  });
  // What was decided about a split that is not in force any more is not published.
  expect(await publish(first)).toBeNull();
});

it("publishes nothing where nothing moves, nor after a revert", async () => {
  const policies = createPolicyTopic().writer([BUDGET]).of(BUDGET);
  const publish = createPublishBudget({ policies, fixed, clock: () => 7 });
  const even = { responses: { gain: 1, loss: 1 }, examples: { gain: 1, loss: 1 } };
  expect(await publish(split({ worth: even, before: fixed }).split)).toBeNull();
  const one = await publish(split({ worth, before: fixed }).split);
  await policies.append((version) => ({ ...one!, version, revertOf: 1 }));
  expect(await publish(split({ worth, before: splitInForce(policies, fixed) }).split)).toBeNull();
});

it("keeps the floors", () => {
  const { split: found } = split({ worth, before: { responses: 870, examples: 130 } });
  expect(found).toMatchObject({ moved: { from: null }, split: { responses: 870, examples: 130 } });
});
