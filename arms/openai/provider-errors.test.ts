// Error bodies as providers and engines send them: the wordings that refusal.test.ts has no place
// for. What is told apart decides whether another arm answers, whether the call is tried again, and
// whether the arm's breaker counts it.
import { APIError } from "openai";
import { expect, it } from "vitest";
import { armSchema } from "../../config/schema.ts";
import { armRequest, aTurn } from "../request.testing.ts";
import { completionBody } from "./body.ts";
import { readErrorBody } from "./error-body.ts";
import { problemOf, type Problem } from "./errors.ts";
import { reportedError } from "./reported-error.ts";

const config = armSchema.parse({ name: "a", type: "openai", baseUrl: "http://x/v1", model: "m" });

const now = Date.parse("2026-01-01T00:00:00Z");

/** status undefined: the body came with status 200, or is an event of a stream. */
function problem(status: number | undefined, body: object, passthrough?: object): Problem {
  if (config.type !== "openai") throw new Error("unreachable");
  const request = {
    ...armRequest({ pieces: [aTurn("What is there to say?")], params: { maxTokens: 4_096 } }),
    ...(passthrough && { passthrough: JSON.stringify(passthrough) }),
  };
  const error =
    status === undefined
      ? reportedError(body as Record<string, unknown>, new Headers())
      : new APIError(status, readErrorBody(body), undefined, new Headers());
  if (error === null) throw new Error("it reports no error");
  return problemOf(error, now, { config, request, body: completionBody(config, request) });
}
const open = (message: string, more: object = {}) => ({ error: { message, type: "invalid_request_error", ...more } });
const flat = (message: string) => ({ object: "error", message, type: "BadRequestError", code: 400 });
const sum = "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 512 `max_new_tokens`";

it.each<[string, number | undefined, object]>([
  ["vLLM", 400, open("The decoder prompt (length 21535) is longer than the maximum model length of 16384.")],
  ["TGI", 422, { error: `Input validation error: ${sum}`, error_type: "validation" }],
  ["TGI, within a stream", undefined, { error: `Input validation error: ${sum}`, error_type: "validation" }],
  [
    "TensorRT-LLM",
    400,
    flat("The sum of prompt length (9000.0), query length (0) should not exceed max_num_tokens (8192)"),
  ],
  [
    "TensorRT-LLM",
    400,
    flat("default_max_tokens (-10) must be greater than 0: max_seq_len (4096) - prompt_len (5000)"),
  ],
  ["TabbyAPI", 400, { detail: "Prompt length 9000 is greater than max_seq_len 8192" }],
  [
    "Vertex",
    400,
    [
      {
        error: {
          code: 400,
          message:
            "Unable to submit request because the input token count is 1102810 but model only supports up to 1048576.",
          status: "INVALID_ARGUMENT",
        },
      },
    ],
  ],
  ["Qwen", 400, open("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]")],
  ["GLM", 400, { error: { code: "1261", message: "Prompt exceeds max length" } }],
  [
    "Doubao",
    400,
    open("Total tokens of image and text exceed max message tokens.", { code: "InvalidParameter", param: "" }),
  ],
  [
    "Bedrock",
    400,
    { message: "Malformed input request: expected maxLength: 10000, actual: 12000, please reformat your input" },
  ],
  [
    "SambaNova",
    400,
    open("The provided prompt is 5000 tokens long, but the maximum supported sequence length is just 4096!"),
  ],
  [
    "MiniMax",
    undefined,
    { base_resp: { status_code: 2013, status_msg: "invalid params, context window exceeds limit" } },
  ],
])("a prompt that is too long for %s goes to an arm that may hold it", (_name, status, body) => {
  expect(problem(status, body)).toMatchObject({ code: "prompt_too_large", retriable: false, param: "messages" });
});

it("the prompt and the answer may be too long together", () => {
  expect(problem(422, open(`Input validation error: ${sum}`, { param: "max_tokens" }))).toMatchObject({
    ...{ code: "prompt_too_large", param: "max_tokens" },
  });
});

const violates =
  "Content violates usage guidelines. Team: t, API key ID: k, Model: grok-4, Failed check: SAFETY_CHECK_TYPE_BIO";

it.each<[string, number | undefined, object]>([
  ["xAI", 403, { code: "The caller does not have permission to execute the specified operation", error: violates }],
  [
    "Qwen, within a stream",
    undefined,
    {
      error: {
        code: "data_inspection_failed",
        message: "<400> InternalError.Algo.DataInspectionFailed: Output data may contain inappropriate content.",
      },
    },
  ],
  [
    "Azure, within a stream",
    undefined,
    { error: { code: "content_filter", message: "The response was filtered", param: null } },
  ],
  [
    "Doubao, within a stream",
    undefined,
    {
      error: {
        code: "OutputTextSensitiveContentDetected",
        message: "The request failed because the output text may contain sensitive information.",
      },
    },
  ],
  [
    "MiniMax, of the prompt",
    undefined,
    { choices: null, base_resp: { status_code: 1026, status_msg: "input new_sensitive" } },
  ],
  [
    "MiniMax, of the answer",
    undefined,
    { choices: null, base_resp: { status_code: 1027, status_msg: "output new_sensitive" } },
  ],
])("a content that %s refuses is no failure of the arm", (_name, status, body) => {
  const found = problem(status, body);
  expect(found).toMatchObject({ code: "request_rejected", retriable: false, param: "messages" });
  expect(found.unhealthy).toBeUndefined();
});

it("but an account that is closed for its content is the arm's", () => {
  const closed = open("Your access was terminated due to violation of our policies.", { code: "access_terminated" });
  expect(problem(403, closed)).toMatchObject({ code: "endpoint_rejected", unhealthy: true });
});

it.each<[string, number | undefined, object]>([
  [
    "Groq's place",
    400,
    open("Failed to call a function. Please adjust your prompt.", {
      code: "tool_use_failed",
      failed_generation: "<f>",
    }),
  ],
  [
    "Groq's place, within a stream",
    undefined,
    open("Failed to call a function.", { code: "tool_use_failed", status_code: 400 }),
  ],
  ["Groq's JSON", 400, open("Failed to generate JSON. Please adjust your prompt.", { code: "json_validate_failed" })],
  [
    "Groq's output",
    400,
    open("Parsing failed. The model generated output that could not be parsed.", { code: "output_parse_failed" }),
  ],
])("what a model wrote and %s can't read is asked for again", (_name, status, body) => {
  expect(problem(status, body)).toMatchObject({ code: "model_failed", retriable: true });
});

it.each<[string, number, object]>([
  [
    "LM Studio's process has ended",
    400,
    { error: "The model has crashed without additional information. (Exit code: null)" },
  ],
  ["LM Studio loads another model", 400, { error: "Model unloaded." }],
  ["Gemini is busy", 499, [{ error: { code: 499, message: "The operation was cancelled.", status: "CANCELLED" } }]],
])("where %s, the call may succeed soon", (_name, status, body) => {
  expect(problem(status, body)).toMatchObject({ code: "endpoint_unavailable", retriable: true });
});

it.each<[string, number | undefined, object]>([
  [
    "its place, for Gemini",
    400,
    [
      {
        error: { code: 400, message: "User location is not supported for the API use.", status: "FAILED_PRECONDITION" },
      },
    ],
  ],
  ["Groq's terms", 400, open("The model `x/y` requires terms acceptance.", { code: "model_terms_required" })],
  ["Bedrock's name of the model", 400, { message: "The provided model identifier is invalid." }],
  [
    "Bedrock's profile of the model",
    400,
    { message: "Invocation of model ID a.b-1 with on-demand throughput isn’t supported." },
  ],
  [
    "Azure's kind of model",
    400,
    open("The chatCompletion operation does not work with the specified model, x.", { code: "OperationNotSupported" }),
  ],
  [
    "the workspace's limit, for Anthropic",
    400,
    open("You have reached your specified API usage limits. You will regain access on 2026-12-01."),
  ],
  [
    "the team's credits, for xAI",
    429,
    {
      code: "Some resource has been exhausted",
      error: "Your team t has either used all available credits or reached its monthly spending limit.",
    },
  ],
  ["MiniMax's key", undefined, { base_resp: { status_code: 2049, status_msg: "invalid api key" } }],
])("what is wrong with %s is the arm's", (_name, status, body) => {
  expect(problem(status, body)).toMatchObject({ code: "endpoint_rejected", retriable: false, unhealthy: true });
});

const mmproj = "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj";
const image = { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "data:," } }] }] };
const tools = { tools: [{ type: "function", function: { name: "f" } }] };

it.each<[string, number, object, object, string | undefined]>([
  ["images, to vLLM", 500, flat("Qwen/Qwen3-8B is not a multimodal model"), image, "messages"],
  ["images, to llama-server", 500, { error: { code: 500, message: mmproj, type: "server_error" } }, image, "messages"],
  [
    "images, to OpenRouter",
    404,
    { error: { message: "No endpoints found that support image input", code: 404 } },
    image,
    "messages",
  ],
  [
    "tools, to llama-server",
    500,
    { error: { code: 500, message: "tools param requires --jinja flag", type: "server_error" } },
    tools,
    "tools",
  ],
  [
    "tools, to OpenRouter",
    404,
    { error: { message: "No endpoints found that support tool use.", code: 404 } },
    tools,
    "tools",
  ],
  [
    "a schema, to llama-server",
    500,
    { error: { code: 500, message: "JSON schema conversion failed:\nUnrecognized schema", type: "server_error" } },
    { response_format: {} },
    undefined,
  ],
  [
    "parameters, to OpenRouter",
    404,
    { error: { message: "No endpoints found that can handle the requested parameters.", code: 404 } },
    { top_a: 1 },
    undefined,
  ],
])("a request is to blame for %s that has no use for them", (_name, status, body, passthrough, param) => {
  const found = problem(status, body, passthrough);
  expect(found).toMatchObject({ code: "request_rejected", retriable: false, param });
  expect(found.unhealthy).toBeUndefined();
  // Text alone asks for none of it: the arm's own settings do.
  if (status === 404) expect(problem(status, body)).toMatchObject({ unhealthy: true });
});

it("OpenRouter's limits are whole again when its body says", () => {
  const headers = { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": String(now + 42_000) };
  const limited = (of: unknown) => ({
    error: { message: "Rate limit exceeded", code: 429, metadata: { headers: of } },
  });
  expect(problem(429, limited(headers))).toMatchObject({ code: "rate_limited", retriable: true, retryAfterMs: 42_000 });
  expect(problem(undefined, limited({ "Retry-After": 7 }))).toMatchObject({ retryAfterMs: 7_000 });
  for (const odd of [null, [], "x", { "retry-after": {} }, { ...headers, "X-RateLimit-Remaining": "9" }])
    expect(problem(429, limited(odd))).toMatchObject({ code: "rate_limited", retryAfterMs: null });
});
