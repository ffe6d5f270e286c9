// Refusals in the words of many servers: whose fault each is, what the client is told, and that no
// key and no prompt is in it.
import { APIError } from "openai";
import { describe, expect, it } from "vitest";
import { armRequest, aTurn } from "../request.testing.ts";
import { armSchema } from "../../config/schema.ts";
import type { Piece } from "../../schemas/types.ts";
import { completionBody } from "./body.ts";
import { problemOf, type Problem } from "./errors.ts";
import { quotable } from "./quote.ts";
import { readErrorBody } from "./error-body.ts";

const apiKey = "sk-the-key-of-the-arm";
const question = "How do I list all hidden files of a folder, sorted by size?";
interface Asked {
  pieces?: Piece[];
  params?: object;
  passthrough?: object;
  system?: string;
  maxTokens?: number | undefined;
}

function problem(status: number | undefined, body: unknown, asked: Asked = {}, headers: object = {}): Problem {
  const { pieces = [aTurn(question)], params = {}, passthrough, system } = asked;
  const maxTokens = "maxTokens" in asked ? asked.maxTokens : 256;
  const config = armSchema.parse({
    ...{ name: "a", type: "openai", baseUrl: "http://x/v1", model: "m", apiKey, system, stop: ["\n"], maxTokens },
    body: { priority: 1 },
  });
  if (config.type !== "openai") throw new Error("unreachable");
  const request = {
    ...armRequest({ pieces, params }),
    ...(passthrough && { passthrough: JSON.stringify(passthrough) }),
  };
  const error = new APIError(status, readErrorBody(body), undefined, new Headers(headers as Record<string, string>));
  return problemOf(error, Date.parse("2026-01-01T00:00:00Z"), {
    ...{ config, request, body: completionBody(config, request) },
  });
}
const open = (message: string, more: object = {}) => ({ error: { message, type: "invalid_request_error", ...more } });
const flat = (message: unknown, more: object = {}) => ({ object: "error", message, type: "BadRequestError", ...more });

describe("a prompt that is too long", () => {
  it.each<[string, number | undefined, unknown]>([
    ["OpenAI", 400, open("maximum context length is 8192 tokens", { code: "context_length_exceeded" })],
    ["OpenAI's code alone", 400, { error: { code: "context_length_exceeded" } }],
    [
      "OpenAI, a text",
      400,
      open("Invalid 'messages[0].content': string too long.", { code: "string_above_max_length" }),
    ],
    [
      "Anthropic",
      400,
      {
        type: "error",
        error: { type: "invalid_request_error", message: "prompt is too long: 210000 tokens > 200000 maximum" },
      },
    ],
    [
      "Anthropic, bytes",
      413,
      { type: "error", error: { type: "request_too_large", message: "Request exceeds the maximum size" } },
    ],
    [
      "Gemini",
      400,
      [
        {
          error: {
            code: 400,
            message: "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).",
            status: "INVALID_ARGUMENT",
          },
        },
      ],
    ],
    [
      "vLLM",
      400,
      flat("This model's maximum context length is 4096 tokens. However, you requested 5000 tokens", { code: 400 }),
    ],
    ["SGLang", 400, flat("The input (5000 tokens) is longer than the model's context length (4096 tokens).")],
    [
      "TGI",
      422,
      {
        error: "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
        error_type: "validation",
      },
    ],
    [
      "llama-server",
      400,
      {
        error: {
          code: 400,
          type: "exceed_context_size_error",
          message: "the request exceeds the available context size",
          n_ctx: 256,
        },
      },
    ],
    [
      "llama-server before",
      500,
      {
        error: {
          code: 500,
          type: "server_error",
          message: "the request exceeds the available context size. try increasing the context size",
        },
      },
    ],
    [
      "llama-cpp-python",
      500,
      { error: { message: "Requested tokens (817) exceed context window of 512", type: "internal_server_error" } },
    ],
    [
      "LiteLLM",
      400,
      {
        error: {
          message: "litellm.ContextWindowExceededError: litellm.BadRequestError: too long",
          type: null,
          param: null,
          code: "400",
        },
      },
    ],
    [
      "OpenRouter",
      400,
      {
        error: {
          code: 400,
          message: "Provider returned error",
          metadata: { raw: '{"error":{"message":"This endpoint\'s maximum context length is 131072 tokens."}}' },
        },
      },
    ],
    [
      "xAI",
      400,
      {
        code: "Client specified an invalid argument",
        error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
      },
    ],
    ["Groq", 413, { error: { message: "Request too large for model", type: "tokens", code: "rate_limit_exceeded" } }],
    [
      "OpenAI's tokens a minute",
      429,
      {
        error: {
          message: "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 35000.",
          type: "tokens",
          code: "rate_limit_exceeded",
        },
      },
    ],
    ["nginx", 413, "<html><head><title>413 Request Entity Too Large</title></head></html>"],
    ["in a stream", undefined, { message: "This model's maximum context length is 4096 tokens", code: 400 }],
  ])("of %s is the request's fault", (_name, status, body) => {
    expect(problem(status, body)).toMatchObject({
      ...{ code: "prompt_too_large", retriable: false, param: "messages" },
      message: expect.stringContaining("prompt is too long") as string,
    });
    expect(problem(status, body).unhealthy).toBeUndefined();
  });

  it("may be the answer's length", () => {
    const newer = flat(
      "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096 tokens",
    );
    expect(problem(400, newer, { params: { maxTokens: 5000 } })).toMatchObject({
      code: "prompt_too_large",
      param: "max_tokens",
    });
  });
});

describe("a parameter", () => {
  const through = { reasoning_effort: "high", response_format: { type: "json_object" }, tools: [] };
  it.each<[string, unknown, string]>([
    [
      "OpenAI's param",
      open("Unsupported value", { param: "reasoning_effort", code: "unsupported_value" }),
      "reasoning_effort",
    ],
    ["OpenAI's text", open("Unrecognized request argument supplied: reasoning_effort"), "reasoning_effort"],
    [
      "a path",
      open("Invalid schema", { param: "response_format.json_schema.schema" }),
      "response_format.json_schema.schema",
    ],
    [
      "FastAPI",
      {
        detail: [{ type: "extra_forbidden", loc: ["body", "reasoning_effort"], msg: "Extra inputs are not permitted" }],
      },
      "reasoning_effort",
    ],
    [
      "Mistral",
      flat({ detail: [{ loc: ["body", "tools", 0, "function"], msg: "Field required" }] }),
      "tools[0].function",
    ],
    [
      "vLLM",
      flat("[{'type': 'extra_forbidden', 'loc': ('body', 'reasoning_effort'), 'msg': 'Extra inputs'}]", {
        param: null,
      }),
      "reasoning_effort",
    ],
    [
      "Anthropic",
      {
        error: { type: "invalid_request_error", message: "messages.0.content: text content blocks must be non-empty" },
      },
      "messages[0].content",
    ],
    ["a list", open("`tools` is not supported by this model"), "tools"],
  ])("is named as %s does, and is the request's fault", (_name, body, param) => {
    const asked = { passthrough: { ...through, messages: [{ role: "user", content: "hi" }] } };
    expect(problem(400, body, asked)).toMatchObject({ code: "request_rejected", retriable: false, param });
    expect(problem(422, body, asked).message).toContain(`change or leave out ${param}`);
  });

  it.each<[string, unknown, Asked, string | undefined]>([
    ["the model", open("The model does not exist", { param: "model", code: "model_not_found" }), {}, "model"],
    [
      "the name of the limit",
      open("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.", {
        param: "max_tokens",
        code: "unsupported_parameter",
      }),
      { params: { maxTokens: 5 } },
      "maxTokensField",
    ],
    [
      "its own limit",
      open("max_tokens is too large: 256. This model supports at most 16", { param: "max_tokens" }),
      {},
      "maxTokens",
    ],
    [
      "a limit that it lacks",
      open("Missing required parameter: 'max_tokens'.", { param: "max_tokens" }),
      { maxTokens: undefined },
      "maxTokens (it has none)",
    ],
    ["a member of its body", open("priority needs the priority policy", { param: "priority" }), {}, "body.priority"],
    ["its stop strings", open("stop is not supported", { param: "stop" }), {}, "stop"],
    ["streaming", open("Your organization must be verified to stream this model.", { param: "stream" }), {}, "stream"],
  ])("that the arm has set is the arm's fault: %s", (_name, body, asked, setting) => {
    const found = problem(400, body, asked);
    expect(found).toMatchObject({ code: "endpoint_rejected", unhealthy: true });
    expect(found.message).toContain(`check the arm's ${setting}`);
  });

  it("that the request has set in the arm's place is the request's", () => {
    const large = open("max_tokens is too large: 99999", { param: "max_tokens" });
    expect(problem(400, large, { params: { maxTokens: 99_999 } })).toMatchObject({
      code: "request_rejected",
      param: "max_tokens",
    });
    const stop = open("at most 4", { param: "stop" });
    expect(problem(400, stop, { params: { stop: ["a", "b"] } })).toMatchObject({
      code: "request_rejected",
      param: "stop",
    });
  });

  it("of a message is counted as the client counts", () => {
    const messages = [
      { role: "user", content: "hi" },
      { role: "user", content: [{ type: "image_url" }] },
    ];
    const system: Piece = { kind: "system", id: null, role: "system", text: "Be brief." };
    const named = open("bad image", { param: "messages[2].content[0].image_url" });
    const asked = { pieces: [system, aTurn("hi"), aTurn("")], passthrough: { messages } };
    expect(problem(400, named, asked).param).toBe("messages[1].content[0].image_url");
    const example: Piece = { kind: "example", id: "e", role: "user", text: "an example" };
    expect(problem(400, open("bad", { param: "messages[1].content" }), { pieces: [example, aTurn("hi")] }).param).toBe(
      "messages",
    );
  });
});

describe("names that a message repeats", () => {
  const passthrough = {
    ...{ tools: [], user: "u", safety_identifier: "s" },
    messages: [{ role: "user", content: "hi" }],
  };
  const tool = "tools[0].function.parameters";
  it.each<[string, unknown, string | undefined]>([
    ["a tool", open("Invalid schema for function 'get_billing_info': 'required' is missing", { param: tool }), tool],
    ["a tool without a param", flat("Invalid schema for function 'get_billing_info'"), undefined],
    ["a call", open("tool_call_ids did not have response messages: call_billing"), undefined],
    ["a tool without marks", flat("Invalid tool schema for authenticate_user: type is missing"), undefined],
    ["a field", flat("Grammar error: field access_token has an unsupported pattern"), undefined],
    ["a tool of models", flat("function 'get_model_info' not found"), undefined],
    ["a tool of sizes", flat("Invalid schema for function 'set_context_size'"), undefined],
    ["a schema", open("Invalid schema for 'budget exceeded report'", { param: "response_format" }), "response_format"],
    ["an address", open("Failed to download image from https://x/authentication.png"), undefined],
    [
      "a tool's long name",
      open("Invalid 'tools[0].function.name': string too long.", {
        param: "tools[0].function.name",
        code: "string_above_max_length",
      }),
      "tools[0].function.name",
    ],
    ["a long user", open("Invalid 'user': string too long.", { code: "string_above_max_length" }), "user"],
    ["Ollama's tools", open("registry.ollama.ai/library/gemma:2b does not support tools"), "tools"],
    ["a safety_identifier", open("Unrecognized request argument supplied: safety_identifier"), "safety_identifier"],
  ])("say nothing of its cause: %s", (_name, body, param) => {
    const found = problem(400, body, { passthrough });
    expect(found).toMatchObject({ code: "request_rejected", param });
    expect(found.unhealthy).toBeUndefined();
    expect(found.message).toContain(param === undefined ? "change the request." : `change or leave out ${param}.`);
  });
  it("are no wording of a proxy, which may repeat JSON", () => {
    const raw = 'Upstream: {"error":{"message":"API key not valid","code":"invalid_api_key"}} of it';
    expect(problem(400, flat(raw))).toMatchObject({ code: "endpoint_rejected", unhealthy: true });
    const long = "Upstream: {'error': {'code': 'context_length_exceeded'}} of `response_format`";
    expect(problem(400, flat(long), { passthrough: { response_format: {} } })).toMatchObject({
      code: "prompt_too_large",
    });
  });
});

describe("roles that a template refuses", () => {
  const system: Piece = { kind: "system", id: null, role: "system", text: "Be brief." };
  it.each<[string, number, unknown]>([
    ["vLLM", 400, flat("Conversation roles must alternate user/assistant/user/assistant/...", { code: 400 })],
    [
      "llama-server",
      500,
      { error: { code: 500, message: "Jinja Exception: Conversation roles must alternate", type: "server_error" } },
    ],
    ["Gemma", 400, flat("System role not supported")],
    [
      "Gemma at Google",
      400,
      [{ error: { code: 400, message: "Developer instruction is not enabled for models/gemma-3" } }],
    ],
    [
      "OpenAI",
      400,
      open("'messages[0].role' does not support 'system' with this model.", {
        param: "messages[0].role",
        code: "unsupported_value",
      }),
    ],
  ])("are the request's fault as %s says it", (_name, status, body) => {
    expect(problem(status, body, { pieces: [system, aTurn("hi")] })).toMatchObject({
      code: "request_rejected",
      param: "messages",
    });
  });
  it("are the arm's where its own system prompt is the cause", () => {
    const found = problem(400, flat("System role not supported"), {
      pieces: [system, aTurn("hi")],
      system: "Be brief.",
    });
    expect(found).toMatchObject({ code: "endpoint_rejected", unhealthy: true });
  });
});

describe("what is the arm's", () => {
  it.each<[string, number, unknown]>([
    ["a wrong key", 401, open("Incorrect API key provided", { code: "invalid_api_key" })],
    [
      "a key, as Gemini says it",
      400,
      [
        {
          error: { code: 400, message: "API key not valid. Please pass a valid API key.", status: "INVALID_ARGUMENT" },
        },
      ],
    ],
    ["a key, as xAI says it", 400, { code: "invalid argument", error: "Incorrect API key provided: xa***dd." }],
    ["a forbidden project", 403, open("Project does not have access to model")],
    ["an empty account", 402, { error: { code: 402, message: "Insufficient credits" } }],
    [
      "Anthropic's account",
      400,
      { error: { type: "invalid_request_error", message: "Your credit balance is too low to access the API." } },
    ],
    [
      "LiteLLM's budget",
      400,
      { error: { message: "Budget has been exceeded! Current cost: 3", type: "budget_exceeded", code: "400" } },
    ],
    [
      "OpenAI's quota",
      429,
      {
        error: {
          message: "You exceeded your current quota, please check your plan and billing details.",
          code: "insufficient_quota",
        },
      },
    ],
    [
      "OpenAI's quota beside a limit",
      429,
      { error: { message: "Rate limit: see https://x/billing. Try again in 5s.", code: "insufficient_quota" } },
    ],
    [
      "a missing deployment",
      404,
      { error: { code: "DeploymentNotFound", message: "The API deployment does not exist." } },
    ],
    [
      "Ollama's missing model",
      404,
      { error: { message: 'model "x" not found, try pulling it first', type: "api_error", param: null, code: null } },
    ],
    ["a model's name", 400, open("invalid model ID")],
    ["another path", 405, { detail: "Method Not Allowed" }],
    [
      "a proxy's page",
      400,
      "<html><head><title>400 The plain HTTP request was sent to HTTPS port</title></head></html>",
    ],
  ])("%s: any request would fail so", (_name, status, body) => {
    expect(problem(status, body)).toMatchObject({ code: "endpoint_rejected", retriable: false, unhealthy: true });
  });

  it.each<[string, number | undefined, unknown, object, string, number | null]>([
    [
      "Azure",
      429,
      { error: { code: "429", message: "have exceeded token rate limit. Please retry after 6 seconds." } },
      {},
      "rate_limited",
      6_000,
    ],
    [
      "Gemini",
      429,
      [
        {
          error: {
            code: 429,
            message: "You exceeded your current quota, please check your plan and billing details.",
            status: "RESOURCE_EXHAUSTED",
            details: [{ retryDelay: "34s" }],
          },
        },
      ],
      {},
      "rate_limited",
      34_000,
    ],
    [
      "OpenAI's milliseconds",
      429,
      open("slow", { code: "rate_limit_exceeded" }),
      { "retry-after-ms": "120", "retry-after": "9" },
      "rate_limited",
      120,
    ],
    [
      "a reset",
      429,
      open("slow"),
      {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "6m0s",
        "x-ratelimit-remaining-tokens": "5",
        "x-ratelimit-reset-tokens": "9h",
      },
      "rate_limited",
      360_000,
    ],
    [
      "Anthropic overloaded",
      529,
      { error: { type: "overloaded_error", message: "Overloaded" } },
      { "retry-after": "3" },
      "endpoint_unavailable",
      3_000,
    ],
    [
      "a loading model",
      503,
      { error: { code: 503, message: "Loading model", type: "unavailable_error" } },
      {},
      "endpoint_unavailable",
      null,
    ],
    ["a rate limit in a stream", undefined, { message: "slow down", code: 429 }, {}, "rate_limited", null],
    ["the same in a word", undefined, { message: "slow down", type: "rate_limit_error" }, {}, "rate_limited", null],
    [
      "OpenAI's limit, with an advice to pay",
      429,
      {
        error: {
          message: "Rate limit reached. Visit https://platform.openai.com/account/billing to add a payment method.",
          code: "rate_limit_exceeded",
        },
      },
      { "retry-after": "20" },
      "rate_limited",
      20_000,
    ],
    ["a wait in the headers", 429, open("see your billing"), { "retry-after": "20" }, "rate_limited", 20_000],
    ["Gemini's minute", 429, flat("Quota exceeded for requests per minute, see billing"), {}, "rate_limited", null],
    [
      "a limit with status 400",
      400,
      { error: { message: "slow", type: "rate_limit_error" } },
      {},
      "rate_limited",
      null,
    ],
    [
      "Bedrock's limit",
      400,
      { __type: "ThrottlingException", message: "Too many requests" },
      { "retry-after": "2" },
      "rate_limited",
      2_000,
    ],
    [
      "an overload with status 400",
      400,
      { error: { message: "Engine is overloaded", type: "overloaded_error" } },
      {},
      "endpoint_unavailable",
      null,
    ],
    ["a page", 502, "<html><title>502 Bad Gateway</title></html>", {}, "endpoint_unavailable", null],
    ["a wait of two units", 429, open("Please try again in 1m30.5s."), {}, "rate_limited", 90_500],
    ["hours", 429, open("Please try again in 2h."), {}, "rate_limited", 7_200_000],
    ["milliseconds", 429, open("Please try again in 120ms. Visit"), {}, "rate_limited", 120],
    ["words", 429, open("Please wait 30 seconds before trying again"), {}, "rate_limited", 30_000],
  ])("%s may be over soon", (_name, status, body, headers, code, wait) => {
    expect(problem(status, body, {}, headers)).toMatchObject({ code, retriable: true, retryAfterMs: wait });
  });

  it("a refused content is no failure of the arm, whatever the status", () => {
    const filter = {
      error: {
        message: "The response was filtered due to content management policy.",
        code: "content_filter",
        param: "prompt",
        status: 400,
      },
    };
    expect(problem(400, filter)).toMatchObject({ code: "request_rejected", param: "prompt" });
    const flagged = {
      error: { code: 403, message: "Your chosen model requires moderation and your input was flagged" },
    };
    expect(problem(403, flagged)).toMatchObject({ code: "request_rejected", param: "messages" });
  });
});

describe("what the client is told", () => {
  it("is what the endpoint said, on one line, without keys and without what it repeats of the prompt", () => {
    const said = `Bad\n input:\t"${question}" with ${apiKey}, Bearer abcdefghijklmnop and sk-proj-****************wxyz`;
    const { message } = problem(400, open(said));
    expect(message).toBe(
      'The endpoint rejected the request: status 400 (invalid_request_error): "Bad input: "[prompt]" with [key], Bearer [key] and [key]"; change the request.',
    );
  });
  it("is bounded, and the title of a page", () => {
    expect(problem(500, open("x".repeat(9_999))).message.length).toBeLessThan(500);
    expect(problem(502, "<html><head><title>Bad\u0007 Gateway</title>").message).toContain('"Bad Gateway"');
  });
  it("has no part of a prompt, however it is quoted", () => {
    const text = 'She said "no" to 4155550123\nand left for the northern station';
    for (const quoted of [text, JSON.stringify(text), text.slice(10, 40), text.replaceAll("\n", "\\n")])
      expect(quotable(`input was ${quoted}!`, { apiKey: "", headers: {} }, [text])).not.toMatch(
        /4155|northern|left for/,
      );
  });
  it("reads a body of any shape without an error", () => {
    const deep = `${'{"error":'.repeat(5_000)}1${"}".repeat(5_000)}`;
    for (const body of [
      null,
      3,
      true,
      [],
      [[]],
      {},
      "",
      "[",
      "{",
      deep,
      { error: null },
      { error: [] },
      { detail: [3] },
      { message: {} },
    ])
      expect(problem(400, body)).toMatchObject({ code: "request_rejected", param: undefined });
  });
});
