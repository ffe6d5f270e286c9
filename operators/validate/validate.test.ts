import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Request } from "../../schemas/types.ts";
import { aContext, aRequest, NOW, received } from "../values.testing.ts";
import { createValidate } from "./validate.ts";

const validate = createValidate({
  limits: { maxPromptBytes: 1_000, deadlineMs: 120_000 },
  arms: () => [{ name: "small" }, { name: "large" }],
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
    const own = await outcome({ allow: { ...base.allow, deadlineMs: 5, arms: ["large"] } });
    expect(own).toMatchObject({ kind: "ok", value: { deadline: NOW - 1 + 5 } });
  });

  it.each([
    ["no_tenant", { tenant: " " }, "tenant"],
    ["name_too_long", { id: "x".repeat(257) }, "id has 257 bytes"],
    ["name_too_long", { tenant: "é".repeat(129) }, "tenant has 258 bytes"],
    ["name_too_long", { domain: "x".repeat(1_000) }, "domain has 1000 bytes"],
    ["name_too_long", { documents: ["handbook", "x".repeat(300)] }, "documents[1] has 300 bytes"],
    ["metadata_too_large", { metadata: { note: "x".repeat(16_381) } }, "16385 bytes and the limit is 16384"],
    [
      "too_many_messages",
      { messages: Array.from({ length: 4_097 }, () => ({ role: "user" as const, content: "x" })) },
      "4097 messages and the limit is 4096",
    ],
    ["invalid_params", { params: { ...base.params, stop: ["x".repeat(1_025)] } }, "params.stop"],
    ["no_messages", { messages: [] }, "messages"],
    ["no_messages", { messages: [{ role: "system" as const, content: "be brief" }] }, "messages"],
    ["no_messages", { messages: [{ role: "user" as const, content: " \n " }] }, "messages"],
    [
      "prompt_too_large",
      { messages: [{ role: "user" as const, content: "é".repeat(501) }] },
      "The prompt is too long: its messages have 1002 bytes and the limit is 1000",
    ],
    [
      "unknown_arm",
      { allow: { ...base.allow, arms: ["large", "best"] } },
      "names best, which do not exist; there are small, large",
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
    [
      "invalid_params",
      { messages: [{ role: "human" as "user", content: "hi" }, ...base.messages] },
      'messages.0.role: "human" is none of system, developer, user, assistant, tool',
    ],
    ["invalid_params", { messages: [...base.messages, { role: "User" as "user", content: "hi" }] }, "messages.1.role"],
    ["invalid_params", { replyPartition: -1 }, "replyPartition"],
    ["invalid_params", { replyPartition: 8 }, "there are 8 partitions"],
  ])("refuses with %s: %j", async (code, change, message) => {
    const result = await outcome(change);
    expect(result).toMatchObject({ kind: "refuse", code });
    expect(result.kind === "refuse" ? result.message : "").toContain(message);
  });

  it("takes OpenAI's developer as system, and keeps what the client said beside it", async () => {
    const messages = [{ role: "developer" as "system", content: "be brief" }, ...base.messages];
    expect(await outcome({ messages })).toMatchObject({
      value: {
        request: { messages: [{ role: "system", content: "be brief" }, base.messages[0]] },
        record: { messages },
      },
    });
  });

  it("caps a deadline, and counts it from when the request came, whatever the client's clock says", async () => {
    const capped = createValidate({
      limits: { maxPromptBytes: 1_000, deadlineMs: 120_000, maxDeadlineMs: 300_000 },
      arms: () => [{ name: "small" }],
      partitions: () => 8,
    });
    for (const createdAt of [null, 0, NOW - 180_000, Date.UTC(2099, 0, 1)])
      for (const [deadlineMs, counts] of [
        [null, 120_000],
        [1_000, 1_000],
        [86_400_000, 300_000],
      ] as const) {
        const request = aRequest({ createdAt, allow: { ...base.allow, deadlineMs } });
        expect(await capped(received(request), aContext())).toMatchObject({ value: { deadline: NOW - 1 + counts } });
      }
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
