import { describe, expect, it } from "vitest";
import type { Response } from "../../schemas/types.ts";
import { NO_USAGE } from "../../schemas/no-usage.ts";
import { aContext, NOW } from "../values.testing.ts";
import { createOutlet, outletContract } from "./outlet.ts";

const response: Response = {
  ...{
    requestId: "r1",
    tenant: "acme",
    attempt: 1,
    status: "ok",
    text: "answer",
    finishReason: "stop",
    stopSequence: null,
  },
  ...{
    arm: "small",
    model: "m",
    failedArms: [],
    source: "generated",
    exampleIds: [],
    domain: "default/default",
    exampleTokens: 0,
    usage: { ...NO_USAGE },
  },
  ...{ duplicate: false, cost: 0, failedCost: 0, billed: 0, savedCost: 0, account: null, createdAt: NOW },
  ...{ timings: { plan: 1, queue: 1, firstToken: null, total: 3 }, error: null, passthrough: null, linkPolicy: null },
  ...{ degraded: [], asked: false, alternative: null },
};
const from = (tenant: string) => ({
  record: { ...response, tenant },
  ...{ position: { topic: "p.responses", partition: 5, offset: 3 }, timestamp: NOW, receivedAt: NOW },
});
const hasTopics = (tenant: string): boolean => tenant === "acme";

describe("outlet", () => {
  it.each(["tenant-responses", "tenant-alternative-answers"] as const)(
    "copies to %s, on the same partition",
    async (output) => {
      expect(await createOutlet(output)({ hasTopics })(from("acme"), aContext())).toMatchObject({
        value: { emits: [{ output, tenant: "acme", key: "r1", partition: 5, record: response }] },
      });
    },
  );

  it.each(["default", "beta", "Acme", "acme-2", ""])("leaves what is of %j where it is", async (tenant) => {
    const outcome = await createOutlet("tenant-responses")({ hasTopics })(from(tenant), aContext());
    expect(outcome).toMatchObject({ kind: "ok", value: { emits: [] } });
  });

  it("is never late, and owes nothing", () => {
    const contract = outletContract();
    expect(contract.deadline(from("acme"))).toBe(Infinity);
    expect(contract.answer(from("acme"), { status: "failed", code: "internal_error", message: "" })).toEqual([]);
  });
});
