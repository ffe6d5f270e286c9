import { describe, expect, it } from "vitest";
import { generateContract, planContract } from "./contracts.ts";
import { aTaken } from "./call/values.testing.ts";
import { createSeenIds } from "./deduplicate/seen.ts";
import { aDecision, aRequest, NOW, validated } from "./values.testing.ts";

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

describe("plan", () => {
  const setUp = () => {
    const seen = createSeenIds();
    const limits = { deadlineMs: 1 };
    return { seen, plan: planContract({ limits, partitions: () => 8, clock: () => NOW, seen }) };
  };
  const first = validated();
  const again = validated({}, 9);
  const hash = "h";

  it("commits an id with the first request that has it, whatever became of that, and with no other", () => {
    const { seen, plan } = setUp();
    expect(plan.always?.(first)).toEqual([]);
    const { id, tenant } = first.record;
    seen.firstSeen(tenant, id ?? "", first.position, first.timestamp, hash);
    const { partition, offset } = first.position;
    const record = { requestId: id, tenant, offset, hash, seenAt: first.timestamp };
    expect(plan.always?.(first)).toEqual([{ output: "seen-ids", key: id, partition, record }]);
    expect(plan.always?.(again)).toEqual([]);
    expect(plan.always?.(validated({ id: null }))).toEqual([]);
  });

  it("marks whatever ends a repeat as a repeat: it never stands in for the first response", () => {
    const { seen, plan } = setUp();
    const late = { status: "refused", code: "deadline_exceeded", message: "late" } as const;
    const { id, tenant } = first.record;
    seen.firstSeen(tenant, id ?? "", first.position, first.timestamp, hash);
    expect(plan.answer(first, late)).toMatchObject([{ record: { duplicate: false } }]);
    expect(plan.answer(again, late)).toMatchObject([{ record: { duplicate: true } }]);
    expect(plan.answer(validated({ id: "other" }, 10), late)).toMatchObject([{ record: { duplicate: false } }]);
  });
});
