// What can answer a request: a type of arm is one object in the union.
import { z } from "zod";
import { parsePolicy } from "../../algorithms/linked-prefill/link-policy.ts";
import {
  bytes,
  count,
  countOrNone,
  factor,
  factorAboveNone,
  httpUrl,
  milliseconds,
  millisecondsUpTo,
  name,
} from "./common.ts";

const prices = z.strictObject({
  /** Per million tokens; absent: the catalogue's. */
  prompt: factor.optional(),
  /** Cached prompt tokens; absent: the catalogue's share of `prompt`, else `prompt`. */
  cachedPrompt: factor.optional(),
  /** Prompt tokens written to the cache; absent: as cachedPrompt. */
  cacheWrite: factor.optional(),
  /** Per million tokens; absent: the catalogue's. */
  completion: factor.optional(),
  /** Reasoning tokens; absent: the catalogue's, else `completion`. */
  reasoning: factor.optional(),
  /** Per thousand uses of the provider's tools, such as searches; absent: 10 where tokens cost. */
  toolUses: factor.optional(),
  /** A provider batch's share of these prices; absent: .5. */
  batchShare: factor.optional(),
  /** provider/model of the catalogue, for absent prices. */
  catalogue: z.string().min(1).max(200).optional(),
});
/** Most endpoints of an arm, and most addresses of a host. */
export const mostReplicas = 256;

const armBase = {
  name,
  /** Whether its prompts contain examples. */
  examples: z.boolean().default(true),
  /** Tokens that examples may add to its prompts; absent: selection.tokenBudget. */
  tokenBudget: countOrNone.optional(),
  /** Examples as chat turns (can be linked), or as guidance in the question's turn. */
  template: z.enum(["chat-turns", "guided"]).default("chat-turns"),
  /** Longest answer where the request sets none; absent: the model decides. */
  maxTokens: count.optional(),
  /** Stop strings where the request has none. */
  stop: z.array(z.string().min(1)).max(16).default([]),
  /** code: only the leading code block, or what is between backticks. */
  answerAs: z.enum(["text", "code"]).default("text"),
  /** Calls at a time per process; others wait. */
  concurrency: z.number().int().min(1).max(16_384).default(8),
  /** Per million tokens, or `catalogue` (docs/arms.md, Prices). */
  prices: z.union([z.literal("catalogue"), prices]).default({ prompt: 0, completion: 0 }),
  /** Cost for routing; absent: from the prices, relative to the most expensive arm. */
  cost: z.number().min(0).max(1).optional(),
  /** System prompt before the conversation. */
  system: z.string().optional(),
  /** Answers only requests that allow no other arm, or by an experiment. */
  experimental: z.boolean().default(false),
};
/** Keys of arms that wait for others, or look answers up. */
const waitingArm = {
  ...armBase,
  /** inline: plan calls it; queued: generate, which scales apart from plan. */
  dispatch: z.enum(["queued", "inline"]).default("inline"),
};
const apiUrl = httpUrl.refine((url) => !/\/completions\/?(?:$|[?#])/.test(url), {
  error: "ends in /completions, which is appended: write the address before /chat/completions",
});
const metricsUrl = z.union([httpUrl, z.string().regex(/^\/(?!\/)[^\s#]*$/)], {
  error: "must be a URL, or a path of each endpoint such as /metrics",
});
const endpoint = z.strictObject({
  baseUrl: apiUrl,
  /** Absent: the arm's. */
  apiKey: z.string().optional(),
  metricsUrl: metricsUrl.optional(),
});
/** Members of a call that follow from requests and the arm's other keys. */
const ownMembers = ["model", "messages", "system", "tools", "stream", "stream_options", "max_tokens", "stop"];
/** Headers that follow from a call's body and connection. */
const ownHeaders = ["content-type", "content-length", "accept-encoding", "connection", "host", "transfer-encoding"];
/** Keys shared by arms that are endpoints. */
const endpointArm = {
  ...waitingArm,
  /** Replicas, in place of baseUrl: URLs, or { baseUrl, apiKey, metricsUrl }. */
  endpoints: z
    .array(z.preprocess((one) => (typeof one === "string" ? { baseUrl: one } : one), endpoint))
    .min(1)
    .max(mostReplicas)
    .optional(),
  /** dns: each address of baseUrl's host is a replica. */
  discover: z.enum(["off", "dns"]).default("off"),
  /** Where the engine reports its load: a URL, or a path (/metrics). */
  metricsUrl: metricsUrl.optional(),
  /** Write ${NAME}. */
  apiKey: z.string().default(""),
  /** Further headers of every call; they replace ours of the same name. */
  headers: z
    .record(z.string(), z.string().regex(/^[\t -~\u0080-\u00ff]*$/, { error: "Latin characters, without line breaks" }))
    .refine((headers) => Object.keys(headers).every((one) => /^[\w!#$%&'*+.^`|~-]+$/.test(one)), {
      error: "has a name that no header has",
    })
    .refine((headers) => Object.keys(headers).every((one) => !ownHeaders.includes(one.toLowerCase())), {
      error: `has headers that every call has: ${ownHeaders.join(", ")}`,
    })
    // Lower case, so that they replace ours of the same name.
    .overwrite((headers) =>
      Object.fromEntries(Object.entries(headers).map(([one, value]) => [one.toLowerCase(), value])),
    )
    .default({}),
  /** As the endpoint names it. */
  model: z.string().min(1),
  /** For one call, until its last token. */
  timeoutMs: millisecondsUpTo(86_400_000).default(60_000),
  /** Calls after the first. */
  retries: z.number().int().min(0).max(10).default(3),
  /** Absent: no limit; bursts of a tenth of it. */
  requestsPerMinute: count.optional(),
  /** false: for endpoints without streams or `stream_options`. */
  stream: z.boolean().default(true),
  /** The model's context; absent: the catalogue's, else 131072 tokens. */
  contextTokens: count.optional(),
  /** The model's longest answer, to bound costs. */
  maxOutputTokens: count.optional(),
  /** false: the endpoint takes no tools. */
  tools: z.boolean().default(true),
  /** false: the endpoint takes no images. */
  vision: z.boolean().default(true),
  /** false: it takes no `response_format`, `logprobs` and the like. */
  parameters: z.boolean().default(true),
  /** Further members of every call; they replace a request's of the same name. */
  body: z
    .record(z.string(), z.json())
    .refine((body) => ownMembers.every((name) => !(name in body)), {
      error: `has keys of its own for ${ownMembers.join(", ")}`,
    })
    .default({}),
  /** provider: answers lines of /v1/batches alone, at half the price. */
  batch: z.enum(["off", "provider"]).default("off"),
  /** How long lines are collected for a batch; it is looked at as often, at least every 60 s. */
  batchCollectMs: millisecondsUpTo(3_600_000).default(60_000),
};
const openaiShape = z.strictObject({
  ...endpointArm,
  type: z.literal("openai"),
  /** Up to /v1; a query (?api-version=...) is sent with every call. */
  baseUrl: apiUrl.optional(),
  /** Sends prompt_cache_key. */
  promptCacheKey: z.boolean().default(false),
  /** Sends vLLM's cache_salt (docs/engines.md). */
  cacheSalt: z.boolean().default(false),
  /** Name of the member. */
  maxTokensField: z.enum(["max_tokens", "max_completion_tokens"]).default("max_tokens"),
});
type Shape = z.infer<typeof openaiShape>;
type Addresses = Pick<Shape, "baseUrl" | "endpoints" | "discover" | "metricsUrl" | "batch">;
const refuseSeveral = (context: z.RefinementCtx): void =>
  context.addIssue({ code: "custom", path: ["batch"], message: "needs one address: write it as baseUrl" });
function checkAddresses(arm: Addresses, context: z.RefinementCtx): void {
  const { baseUrl, endpoints, discover, metricsUrl } = arm;
  if (arm.batch === "provider" && (endpoints !== undefined || discover !== "off")) refuseSeveral(context);
  const refuse = (key: string, message: string): void => context.addIssue({ code: "custom", path: [key], message });
  if (baseUrl !== undefined && endpoints !== undefined)
    refuse("endpoints", "stands beside baseUrl: write the one endpoint, or the list of all");
  if (discover === "dns" && endpoints !== undefined)
    refuse("discover", "looks up the host of baseUrl: write baseUrl in place of endpoints");
  const urls = (endpoints ?? []).map((one) => new URL(one.baseUrl).href.replace(/\/$/, ""));
  urls.forEach((url, index) => {
    if (urls.indexOf(url) !== index)
      context.addIssue({ code: "custom", path: ["endpoints", index], message: "is there twice" });
  });
  if (metricsUrl === undefined || metricsUrl.startsWith("/")) return;
  if (endpoints !== undefined && endpoints.length > 1)
    refuse("metricsUrl", "is one URL for several endpoints: write a path such as /metrics, or one for each endpoint");
  if (discover === "dns" && baseUrl !== undefined && new URL(metricsUrl).hostname !== new URL(baseUrl).hostname)
    refuse("metricsUrl", "has another host than baseUrl: each replica reports at its own address, such as /metrics");
}
const openaiArm = openaiShape.superRefine((arm, context) => {
  if (arm.baseUrl === undefined && arm.endpoints === undefined)
    context.addIssue({ code: "custom", path: ["baseUrl"], message: "missing; or list several in endpoints" });
  checkAddresses(arm, context);
  if (arm.batch === "provider" && arm.baseUrl === undefined) refuseSeveral(context);
});
/** Default base URL of anthropic arms. */
export const anthropicUrl = "https://api.anthropic.com";
const anthropicArm = z
  .strictObject({
    ...endpointArm,
    type: z.literal("anthropic"),
    /** With or without /v1; absent: Anthropic's own. */
    baseUrl: httpUrl.optional(),
    /** max_tokens where neither request nor maxTokens sets it; older models allow fewer. */
    maxOutputTokens: count.default(32_000),
  })
  .superRefine(checkAddresses);
const linked = z.strictObject({
  /** Which tokens are recomputed; full: no links. */
  policy: z
    .string()
    .superRefine((name, context) => {
      if (name === "auto") return;
      const policy = parsePolicy(name);
      if ("problem" in policy) context.addIssue({ code: "custom", message: `${policy.problem}, or auto` });
    })
    .default("auto"),
  /** What a chunk is prefilled behind when it is cached. */
  convention: z.enum(["alone", "system", "context", "seen"]).default("context"),
  /** Caches in memory; absent: what four prompts take, 256 MiB to 4 GiB. */
  memoryBytes: bytes.optional(),
  /** Caches on disk, in kv/ARM under the stack folder. */
  diskBytes: bytes.default(2_048 * 1_048_576),
  /** idle: makes caches of examples while no request is under way. */
  build: z.enum(["idle", "off"]).default("idle"),
  /** Share compared with a full prefill in idle time. */
  sampleShare: z.number().min(0).max(1).default(0.01),
  /** auto: allowed mean divergence from a full prefill, in nats, by kind of chunk. */
  maxKl: z.strictObject({ short: factorAboveNone.default(0.1), long: factorAboveNone.default(0.1) }).prefault({}),
});
const llamaArm = z.strictObject({
  ...armBase,
  type: z.literal("llama"),
  // Or a name of the registry (models.ts).
  /** A name of docs/arms.md or a GGUF file; absent: SmolLM2-135M-Instruct. */
  model: z.string().optional(),
  /** File with a chat template (Jinja), where the GGUF has none that works. */
  chatTemplate: z.string().optional(),
  /** Prompt and answer together. */
  contextTokens: z.number().int().min(1).max(16_777_216).default(2048),
  /** Leave it below the number of free cores. */
  threads: z.number().int().min(1).max(1_024).default(1),
  /** cpu, auto, gpu or a device's name (docs/linked-prefill.md). */
  device: z
    .string()
    .regex(/^[A-Za-z][\w:.-]{0,63}$/, { error: "must be cpu, auto, gpu, or a name as precedent doctor lists them" })
    .default("cpu"),
  /** Layers on the device, from the last; absent: all. */
  gpuLayers: countOrNone.optional(),
  /** auto: on if the device supports it; off needs kvType f16. */
  flashAttention: z.enum(["auto", "on", "off"]).default("auto"),
  /** q8_0: half the bytes, less precise; needs heads of a multiple of 64. */
  kvType: z.enum(["f16", "q8_0"]).default("f16"),
  /** Requests decoded in one batch; each needs a context. */
  concurrency: z.number().int().min(1).max(64).default(1),
  /** Time without a token after which its process is restarted. */
  stallMs: milliseconds.default(60_000),
  /** Linked prefill (docs/linked-prefill.md). */
  linked: linked.prefault({}),
});
const recordedArm = z.strictObject({
  ...waitingArm,
  type: z.literal("recorded"),
  /** JSON Lines of answers (docs/arms.md). */
  file: z.string(),
  /** Name in responses, where a line has none. */
  model: z.string().default("recorded"),
  /** Simulated time of an answer whose line gives none. */
  latencyMs: z.number().min(0).max(3_600_000).default(0),
  /** Up to this much more, fixed by the request's id. */
  latencySpreadMs: z.number().min(0).max(3_600_000).default(0),
});
const reuseArm = z.strictObject({
  ...armBase,
  type: z.literal("reuse"),
  /** Tenants whose requests it may answer; "*": all. */
  tenants: z
    .array(z.union([name, z.literal("*")]))
    .max(10_000)
    .default([]),
  /** Least cosine of the two questions. */
  minimumSimilarity: z.number().min(0).max(1).default(0.8),
  /** Least predicted probability that the answer is right. */
  minimumQuality: z.number().min(0).max(1).default(0.85),
  /** Share of its requests that other arms answer. */
  verifyShare: z.number().min(0.001).max(1).default(0.1),
  /** Share of wrong answers above which it is off, per sharing domain. */
  limit: z.number().min(0.001).max(0.99).default(0.1),
  /** Least token F1 with the other arm's answer; lower it where answers vary. */
  agreement: z.number().min(0).max(1).default(0.5),
  /** Earlier cases don't count (ISO 8601). */
  countFrom: z.iso.datetime({ offset: true }).optional(),
});
export const armSchema = z.discriminatedUnion("type", [openaiArm, anthropicArm, llamaArm, recordedArm, reuseArm]);

export type ArmConfig = z.infer<typeof armSchema>;
export type OpenAiArmConfig = Extract<ArmConfig, { type: "openai" }>;
export type AnthropicArmConfig = Extract<ArmConfig, { type: "anthropic" }>;
export type EndpointArmConfig = OpenAiArmConfig | AnthropicArmConfig;
export type LlamaArmConfig = Extract<ArmConfig, { type: "llama" }>;
export type ReuseArmConfig = Extract<ArmConfig, { type: "reuse" }>;
export type RecordedArmConfig = Extract<ArmConfig, { type: "recorded" }>;

/**
 * Whether plan calls the arm; else generate does: models in this process would compete with plan,
 * and batches of providers take hours.
 */
export const isInline = (arm: ArmConfig): boolean =>
  arm.type === "reuse" || (arm.type !== "llama" && !answersBatches(arm) && arm.dispatch === "inline");

/** Whether the arm answers lines of batches alone, through its provider's batches. */
export const answersBatches = (arm: ArmConfig): boolean => isEndpoint(arm) && arm.batch === "provider";

/** Whether the arm is an endpoint, called over HTTP. */
export const isEndpoint = (arm: ArmConfig): arm is EndpointArmConfig =>
  arm.type === "openai" || arm.type === "anthropic";
