import { expect, it } from "vitest";
import { generateContract } from "./contracts.ts";
import { aTaken } from "./call/values.testing.ts";
import { aDecision, aRequest, NOW } from "./values.testing.ts";

const contract = generateContract({ limits: { deadlineMs: 1 }, partitions: () => 8, clock: () => NOW + 50 });
const problem = { status: "refused", code: "deadline_exceeded", message: "late" } as const;

it("owes an alternative answer to alternative-answers alone, whatever partition the client reads", () => {
  const decision = aDecision({ alternativeArm: "large", alternative: true, asked: true });
  const work = { request: aRequest({ replyPartition: 3 }), decision };
  expect(contract.answer(aTaken(work), problem)).toMatchObject([
    { output: "responses", partition: 3, record: { arm: "small", status: "refused", asked: false, alternative: null } },
  ]);
  const alternative = contract.answer(aTaken({ ...work, role: "alternative" }), problem);
  expect(alternative).toMatchObject([
    { output: "alternative-answers", key: "r1", record: { arm: "large", status: "refused" } },
  ]);
  expect(alternative[0]).not.toHaveProperty("partition");
});
