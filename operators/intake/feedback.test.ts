import { describe, expect, it } from "vitest";
import { plainFeedback } from "../../schemas/plain-feedback.ts";
import type { Feedback } from "../../schemas/types.ts";
import { aContext, NOW } from "../values.testing.ts";
import { createIntakeFeedback, intakeFeedbackContract } from "./feedback.ts";

const topic = "p.feedback.acme";
const tenantOf = (full: string): string | undefined => (full === topic ? "acme" : undefined);
const intake = createIntakeFeedback({ tenantOf });
const feedback = plainFeedback({
  ...{ id: "f1", requestId: "r1", kind: "thumbs", value: 1, comment: "good", createdAt: NOW },
});
const take = (change: Partial<Feedback>) => {
  const position = { topic, partition: 0, offset: 3 };
  return intake({ record: { ...feedback, ...change }, position, timestamp: NOW, receivedAt: NOW }, aContext());
};

describe("intake of feedback", () => {
  it.each(["default", "", "acme"])("is the topic's tenant's where the record says %j", async (tenant) => {
    expect(await take({ tenant })).toMatchObject({
      value: { emits: [{ output: "feedback", key: "r1", record: { ...feedback, tenant: "acme" } }] },
    });
  });

  it("goes to dead-letters where it claims another tenant", async () => {
    expect(await take({ tenant: "beta" })).toMatchObject({ kind: "deadLetter", code: "wrong_tenant" });
  });

  it("is never late, and owes nothing", () => {
    const contract = intakeFeedbackContract({ tenantOf });
    const from = { record: feedback, position: { topic, partition: 0, offset: 3 }, timestamp: NOW, receivedAt: NOW };
    expect(contract.deadline(from)).toBe(Infinity);
    expect(contract.answer(from, { status: "failed", code: "internal_error", message: "" })).toEqual([]);
  });
});
