import { describe, expect, it } from "vitest";
import type { ResponseError } from "../../schemas/types.ts";
import { errorBody, errorHeaders, errorOfResponse } from "../errors.ts";
import { aResponse } from "../responses.testing.ts";
import { createChunks, restText } from "./chunks.ts";
import { createTextChunks, textCompletion } from "./completions.ts";
import { feedbackOf } from "./feedback.ts";
import { armsAllowed, fits, modelList, resolveModel } from "./models.ts";
import { chatCompletion, requestIdOf, responseHeaders } from "./response.ts";

describe("a response", () => {
  it("is a chat completion, whose id leads back to its request", () => {
    const completion = chatCompletion(aResponse(), { model: "auto" });
    expect(completion).toMatchObject({
      ...{ id: "chatcmpl-r1", object: "chat.completion", created: 1_700_000_000, model: "auto" },
      choices: [{ index: 0, message: { role: "assistant", content: "ls -a" }, finish_reason: "stop" }],
      usage: {
        prompt_tokens: 30,
        completion_tokens: 5,
        total_tokens: 35,
        prompt_tokens_details: { cached_tokens: 10 },
        completion_tokens_details: { reasoning_tokens: 0 },
      },
      precedent: {
        request_id: "r1",
        arm: "small",
        model: "small-1",
        source: "generated",
        cost: 0.25,
        duplicate: false,
      },
    });
    expect(requestIdOf(completion.id)).toBe("r1");
    expect(requestIdOf("r1")).toBe("r1");
  });
  it("that is a refusal is one, and no content that would be read as the answer", () => {
    const refusal = "I can't help with that.";
    const refused = aResponse({ text: refusal, passthrough: JSON.stringify({ message: { refusal } }) });
    const [choice] = chatCompletion(refused, { model: "auto" }).choices;
    expect(choice?.message).toEqual({ role: "assistant", content: null, refusal });
    const beside = aResponse({ text: "So.", passthrough: JSON.stringify({ message: { refusal } }) });
    expect(chatCompletion(beside, { model: "auto" }).choices[0]?.message).toMatchObject({ content: "So.", refusal });

    const deltasOf = (stream: string) =>
      [...stream.matchAll(/^data: (\{.*)\n\n/gm)].flatMap(
        ([, data = ""]) => (JSON.parse(data) as { choices: { delta: object }[] }).choices[0]?.delta ?? [],
      );
    const chunks = createChunks({
      ...{ requestId: "r1", model: "auto", created: 1, includeUsage: false, others: () => [refused] },
    });
    const deltas = deltasOf(chunks.end(refused, []));
    expect(deltas.filter((delta) => "content" in delta)).toEqual([]);
    expect(deltas.filter((delta) => "refusal" in delta)).toEqual([{ refusal }, { refusal }]);
    expect(deltasOf(chunks.begin(false) + chunks.begin())).toMatchObject([{ content: null }, { content: "" }]);
    expect(restText(refused, refusal, chunks)).toBe("");
    expect(restText(beside, "So.", chunks)).toBe("So.");
    expect(restText(refused, refusal, { ...chunks, hasRefusals: false })).toBe(refusal);
  });
  it("knows OpenAI's finish reasons alone", () => {
    const reason = (finishReason: string | null) =>
      chatCompletion(aResponse({ finishReason }), { model: "auto" }).choices[0]?.finish_reason;
    expect(["stop", "length", "content_filter", "eos", "MAX_TOKENS", "odd", null].map(reason)).toEqual([
      ...["stop", "length", "content_filter", "stop", "length", "stop", "stop"],
    ]);
    const odd = aResponse({ finishReason: "odd" });
    const of = { requestId: "r1", model: "auto", created: 1, includeUsage: false };
    expect(textCompletion(odd, of).choices[0]?.finish_reason).toBe("stop");
    for (const chunks of [createChunks(of), createTextChunks(of)])
      expect(chunks.end(odd, [])).toContain('"finish_reason":"stop"');
  });
  it("has headers that are ASCII", () => {
    expect(responseHeaders(aResponse({ requestId: "é\n1", duplicate: true }))).toEqual({
      ...{ "x-precedent-request-id": "??1", "x-precedent-arm": "small", "x-precedent-source": "generated" },
      ...{ "x-precedent-cost": "0.25", "x-precedent-duplicate": "true" },
    });
  });
});

describe("a response that is no answer", () => {
  const failed = (error: Partial<ResponseError>) =>
    errorOfResponse({ status: "failed", error: { message: "why", ...error } });
  it.each([
    ["too_expensive", 400, "invalid_request_error", {}, "precedent.allow.max_cost"],
    ["request_rejected", 400, "invalid_request_error", {}],
    ["endpoint_rejected", 502, "server_error", { "x-should-retry": "false" }],
    ["id_reused", 422, "invalid_request_error", {}],
    ["too_many_waiting", 429, "rate_limit_error", { "retry-after": "1" }],
    ["deadline_exceeded", 504, "server_error", { "x-should-retry": "false" }],
    ["not_recorded", 502, "server_error", { "x-should-retry": "false" }],
    ["endpoint_unavailable", 502, "server_error", { "retry-after": "1" }],
    ["anything_new", 502, "server_error", { "x-should-retry": "false" }],
  ])("%s is %i", (code, status, type, headers, param: string | null = null) => {
    const error = failed({ code });
    expect(error.status).toBe(status);
    expect(errorBody(error)).toEqual({ error: { code, message: "why", type, param } });
    expect(errorHeaders(error)).toEqual(headers);
  });
  it.each([
    ["no_arm", 400, "precedent.allow.arms"],
    ["id_reused", 422],
    ["anything_new", 400],
  ])("%s, where plan refused the request, is %i", (code, status, param: string | null = null) => {
    const error = errorOfResponse({ status: "refused", error: { code, message: "why" } });
    expect(error.status).toBe(status);
    expect(errorBody(error)).toEqual({ error: { code, message: "why", type: "invalid_request_error", param } });
  });
  it("has OpenAI's code where the prompt is too long, for clients that shorten it then", () => {
    const error = failed({ code: "prompt_too_large" });
    expect(error.status).toBe(400);
    expect(errorBody(error)).toEqual({
      error: { code: "context_length_exceeded", message: "why", type: "invalid_request_error", param: "messages" },
    });
    expect(errorHeaders(error)).toEqual({});
  });
  it("names the member that an endpoint named, and the time that it asked for", () => {
    const named = failed({ code: "request_rejected", param: "tools[0]" });
    expect(errorBody(named).error).toMatchObject({ param: "tools[0]", type: "invalid_request_error" });
    const later = (retryAfterMs: number) => errorHeaders(failed({ code: "rate_limited", retryAfterMs }));
    expect([0, 120, 34_000, 1e15].map((ms) => later(ms)["retry-after"])).toEqual(["1", "1", "34", "86400"]);
  });
});

describe("a model", () => {
  const arms = [
    { name: "small", model: "m" },
    { name: "twin", model: "m" },
    { name: "m2", model: "large" },
  ];
  it("is any arm, one, or those behind which it stands", () => {
    const armsOf = (model: string) => resolveModel(model, arms, { caller: { tenant: "acme", arms: null } }).arms;
    expect(armsOf("auto")).toBeNull();
    expect(armsOf("small")).toEqual(["small"]);
    expect(armsOf("m")).toEqual(["small", "twin"]);
    expect(() => armsOf("gpt-x")).toThrow("there are auto, small, twin, m2");
  });
  it("is what the first configured name that fits and is for the caller says", () => {
    const aliases = [
      { name: "gpt-4o*", arms: ["m2"], keys: ["prk-1"] },
      { name: "gpt-4o-mini", arms: ["small"] },
      { name: "gpt-*", costWeight: 0.1, tenants: ["acme"] },
      { name: "rotated", arms: ["twin"], keys: ["prk-0"] },
    ];
    const of = (model: string, tenant = "acme", keyId?: string) =>
      resolveModel(model, arms, { aliases, caller: { tenant, arms: null, keyId, account: "prk-0" } });
    expect(of("gpt-4o-mini", "acme", "prk-1")).toEqual({ arms: ["m2"], costWeight: null });
    expect(of("gpt-4o-mini")).toEqual({ arms: ["small"], costWeight: null });
    expect(of("gpt-5")).toEqual({ arms: null, costWeight: 0.1 });
    expect(of("rotated", "acme", "prk-2").arms).toEqual(["twin"]);
    expect(() => of("gpt-5", "other")).toThrow("there are auto, small, twin, m2, gpt-4o-mini, rotated.");
    const { data } = modelList(arms, 0, { aliases, caller: { tenant: "other", arms: ["small"] } });
    expect(data.map(({ id }) => id)).toEqual(["auto", "small", "gpt-4o-mini"]);
    // Members that Anthropic's clients read.
    expect(data[0]).toMatchObject({ type: "model", created_at: "1970-01-01T00:00:00.000Z", lifecycle: "active" });
  });
  it.each([
    ["a*", "a", true],
    ["*a", "ba", true],
    ["a*a", "a", false],
    ["a*b*c", "aXbYc", true],
    ["a*b*c", "acb", false],
    ["*b*b*", "ab", false],
    ["a.c", "abc", false],
    ["*", "", true],
  ])("%s fits %s: %s", (pattern, text, expected) => {
    expect(fits(pattern, text)).toBe(expected);
  });
  it("allows what all that speak of it allow", () => {
    expect(armsAllowed(null, null)).toBeNull();
    expect(armsAllowed(null, ["a", "b"], ["b", "c"])).toEqual(["b"]);
    expect(() => armsAllowed(["a"], null, ["b"])).toThrow("No arm is left");
  });
});

describe("feedback", () => {
  const of = (body: object) => feedbackOf({ request_id: "chatcmpl-r1", ...body }, { tenant: "acme", id: "f1", now: 5 });
  it("is of the tenant of the key, on the request behind the completion", () => {
    expect(of({ kind: "thumbs", value: 1 })).toEqual({
      ...{ id: "f1", requestId: "r1", tenant: "acme", kind: "thumbs", value: 1, range: null, source: "person" },
      ...{
        author: "",
        against: null,
        text: null,
        withdraws: null,
        session: null,
        sessionRequests: 1,
        comment: null,
        createdAt: 5,
      },
    });
  });
  it.each<[string, object]>([
    ["value", { kind: "thumbs" }],
    ["value", { kind: "reward", value: 2 }],
    ["range", { kind: "score", value: 2 }],
    ["value", { kind: "score", value: 9, range: { low: 5, high: 1 } }],
    ["against", { kind: "preference", value: 1 }],
    ["text", { kind: "correction" }],
    ["kind", { kind: "like", value: 1 }],
    // record would put it into dead-letters after its 202.
    ["author", { kind: "thumbs", value: 1, author: "é".repeat(129) }],
    ["request_id", { kind: "thumbs", value: 1, request_id: "r".repeat(257) }],
    ["id", { kind: "thumbs", value: 1, id: "f".repeat(300) }],
    ["text", { kind: "correction", text: "é".repeat(600_000) }],
    ["tenant", { kind: "thumbs", value: 1, tenant: "other" }],
  ])("is refused for its %s: %.80j", (param, body) => {
    expect(() => of(body)).toThrow(expect.objectContaining({ status: 400, ...(param !== "tenant" && { param }) }));
  });
  it("on a session may name as long a one as the header has", () => {
    const session = "x".repeat(512);
    expect(of({ request_id: undefined, session, kind: "reward", value: 1 })).toMatchObject({ session });
  });
});
