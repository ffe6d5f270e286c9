import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Request } from "../../schemas/types.ts";
import { aContext, aRequest, NOW, received } from "../test-values.ts";
import { createValidate } from "./validate.ts";

const validate = createValidate({
  limits: { maxPromptBytes: 1_000, deadlineMs: 120_000 },
  arms: () => [{ name: "cheap" }, { name: "dear" }],
  partitions: () => 8,
});
const outcome = (change: Partial<Request>) => validate(received(aRequest(change)), aContext());
const base = aRequest();

describe("validate", () => {
  it("settles id, time, domain, deadline and question", async () => {
    const messages: Request["messages"] = [
      { role: "user", content: "first" },
      { role: "assistant", content: "yes" },
      { role: "user", content: "  last  " },
    ];
    const result = await outcome({ id: null, createdAt: null, domain: "sales", messages });
    expect(result).toMatchObject({
      kind: "ok",
      value: {
        request: { id: "precedent.requests-2-7", createdAt: NOW - 1 },
        domain: "acme/sales",
        deadline: NOW - 1 + 120_000,
        question: "last",
        degraded: [],
      },
    });
    const own = await outcome({ allow: { ...base.allow, deadlineMs: 5, arms: ["dear"] } });
    expect(own).toMatchObject({ kind: "ok", value: { deadline: NOW - 1 + 5 } });
  });

  it.each([
    ["no_tenant", { tenant: " " }, "tenant"],
    ["no_messages", { messages: [] }, "messages"],
    ["no_messages", { messages: [{ role: "system" as const, content: "be brief" }] }, "messages"],
    ["no_messages", { messages: [{ role: "user" as const, content: " \n " }] }, "messages"],
    [
      "prompt_too_large",
      { messages: [{ role: "user" as const, content: "é".repeat(501) }] },
      "1002 bytes and the limit is 1000",
    ],
    [
      "unknown_arm",
      { allow: { ...base.allow, arms: ["dear", "best"] } },
      "names best, which do not exist; there are cheap, dear",
    ],
    ["unknown_arm", { allow: { ...base.allow, arms: [] } }, "is empty"],
    ["invalid_params", { params: { ...base.params, temperature: -0.1 } }, "params.temperature"],
    ["invalid_params", { params: { ...base.params, temperature: Number.NaN } }, "params.temperature"],
    ["invalid_params", { params: { ...base.params, topP: 0 } }, "params.topP"],
    ["invalid_params", { params: { ...base.params, topP: 1.1 } }, "params.topP"],
    ["invalid_params", { params: { ...base.params, maxTokens: 0 } }, "params.maxTokens"],
    ["invalid_params", { params: { ...base.params, stop: [""] } }, "params.stop"],
    ["invalid_params", { allow: { ...base.allow, deadlineMs: 0 } }, "allow.deadlineMs"],
    ["invalid_params", { allow: { ...base.allow, deadlineMs: 86_400_001 } }, "allow.deadlineMs"],
    ["invalid_params", { allow: { ...base.allow, maxCost: Number.NaN } }, "allow.maxCost"],
    ["invalid_params", { allow: { ...base.allow, costWeight: -1 } }, "allow.costWeight"],
    ["invalid_params", { replyPartition: -1 }, "replyPartition"],
    ["invalid_params", { replyPartition: 8 }, "there are 8 partitions"],
  ])("refuses with %s: %j", async (code, change, message) => {
    const result = await outcome(change);
    expect(result).toMatchObject({ kind: "refuse", code });
    expect(result.kind === "refuse" ? result.message : "").toContain(message);
  });

  it("ends with ok or a refusal for any conversation, and never throws", async () => {
    const message = fc.record({
      role: fc.constantFrom("system" as const, "user" as const, "assistant" as const, "tool" as const),
      content: fc.string({ unit: "binary", maxLength: 300 }),
    });
    const text = fc.string({ unit: "binary", maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(fc.array(message, { maxLength: 5 }), text, fc.option(text), async (messages, tenant, domain) => {
        const result = await outcome({ messages, tenant, domain });
        expect(["ok", "refuse"]).toContain(result.kind);
      }),
    );
  });
});
