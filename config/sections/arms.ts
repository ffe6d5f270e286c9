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
  /** Absent: the catalogue's. */
  prompt: factor.optional(),
  /**
   * Price of prompt tokens that the endpoint had cached, and of those written to its cache. Absent:
   * the catalogue's ratio to the prompt's price, else that price.
   */
  cachedPrompt: factor.optional(),
  cacheWrite: factor.optional(),
  /** Absent: the catalogue's. */
  completion: factor.optional(),
  /** Reasoning tokens of the completion; absent: the completion's price. */
  reasoning: factor.optional(),
  /** With `batch: provider`: what a call of a batch costs, as a share of these prices. */
  batchShare: factor.optional(),
  /** provider/model of the price catalogue, for absent prices. */
  catalogue: z.string().min(1).max(200).optional(),
});
/** Most endpoints of an arm, and most addresses of a host. */
export const mostReplicas = 256;

const armBase = {
  name,
  /** Whether it gets the examples. */
  examples: z.boolean().default(true),
  /** Tokens that examples may add to its prompts; absent: selection.tokenBudget. */
  tokenBudget: countOrNone.optional(),
  /**
   * How examples stand in a prompt: as chat turns before the question (can be linked), or as
   * guidance in the question's own turn, which stands before and after it.
   */
  template: z.enum(["chat-turns", "guided"]).default("chat-turns"),
  /** Longest answer where the request does not say; absent: as long as the model writes. */
  maxTokens: count.optional(),
  /** Stop strings where the request has none; not part of the answer. */
  stop: z.array(z.string().min(1)).max(16).default([]),
  /**
   * text: the answer unchanged; code: only the code block that it begins with, or the code between
   * surrounding backticks, in one piece (docs/arms.md).
   */
  answerAs: z.enum(["text", "code"]).default("text"),
  concurrency: z.number().int().min(1).max(16_384).default(8),
  /**
   * Which stage calls it: inline: plan, a hop less, for arms that wait rather than compute; queued:
   * generate, which scales apart from plan (docs/arms.md).
   */
  dispatch: z.enum(["queued", "inline"]).default("inline"),
  /**
   * Per million tokens, or `catalogue`: the prices of the arm's provider and model, in US dollars
   * (docs/arms.md, Prices).
   */
  prices: z.union([z.literal("catalogue"), prices]).default({ prompt: 0, completion: 0 }),
  /** Normalised cost C_i in [0, 1]; absent: from the prices, relative to the most expensive arm. */
  cost: z.number().min(0).max(1).optional(),
  system: z.string().optional(),
  /** Answers only requests that allow no other arm, or whose variant of an experiment names it. */
  experimental: z.boolean().default(false),
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
/** Keys shared by arms that are endpoints. */
const endpointArm = {
  ...armBase,
  /** Replicas of one engine: each a URL, or { baseUrl, apiKey, metricsUrl } (docs/engines.md). */
  endpoints: z
    .array(z.preprocess((one) => (typeof one === "string" ? { baseUrl: one } : one), endpoint))
    .min(1)
    .max(mostReplicas)
    .optional(),
  /** dns: each address of baseUrl's host is a replica; the host is looked up every 5 s. */
  discover: z.enum(["off", "dns"]).default("off"),
  /**
   * Address of an engine's load report in Prometheus' text format: a URL, or a path at each
   * endpoint (/metrics).
   */
  metricsUrl: metricsUrl.optional(),
  apiKey: z.string().default(""),
  model: z.string().min(1),
  timeoutMs: millisecondsUpTo(86_400_000).default(60_000),
  retries: z.number().int().min(0).max(10).default(3),
  requestsPerMinute: count.optional(),
  stream: z.boolean().default(true),
  /**
   * The model's context and longest answer, in tokens, which bound what a request without
   * max_tokens may cost. Absent: the price catalogue's context, else 131072.
   */
  contextTokens: count.optional(),
  maxOutputTokens: count.optional(),
  /**
   * Capabilities beyond text, which select its requests (docs/gateway.md): tools, images, other
   * parameters of a request (response_format, ...). false: the endpoint lacks it.
   */
  tools: z.boolean().default(true),
  vision: z.boolean().default(true),
  parameters: z.boolean().default(true),
  /**
   * provider: the arm answers lines of /v1/batches alone, through the provider's own batches
   * (docs/arms.md, Provider batches). Always queued.
   */
  batch: z.enum(["off", "provider"]).default("off"),
  /** How long lines are collected for one batch, and the time between two looks at it. */
  batchCollectMs: millisecondsUpTo(3_600_000).default(60_000),
  batchPollMs: millisecondsUpTo(3_600_000).default(60_000),
  /** Time from which a batch is cancelled there, and another arm answers its open lines. */
  batchTimeoutMs: millisecondsUpTo(86_400_000).default(72_000_000),
};
const openaiShape = z.strictObject({
  ...endpointArm,
  type: z.literal("openai"),
  /** Up to /v1, as OpenAI's clients have it. A query (?api-version=...) is sent with every call. */
  baseUrl: apiUrl.optional(),
  /**
   * Sends prompt_cache_key, derived from arm, sharing domain and first prefix, unless the client
   * sends one. Providers route by it to a machine that has the prefix (docs/arms.md, Prices).
   */
  promptCacheKey: z.boolean().default(false),
  /**
   * Sends vLLM's cache_salt, one for each sharing domain. Domains then share no cached prefix and
   * can't detect each other's prompts by timing.
   */
  cacheSalt: z.boolean().default(false),
  /** Name of the endpoint's member for the most tokens of an answer. */
  maxTokensField: z.enum(["max_tokens", "max_completion_tokens"]).default("max_tokens"),
});
type Shape = z.infer<typeof openaiShape>;
type Addresses = Pick<Shape, "baseUrl" | "endpoints" | "discover" | "metricsUrl" | "batch">;
const refuseSeveral = (context: z.RefinementCtx): void =>
  context.addIssue({ code: "custom", path: ["batch"], message: "needs one address: write it as baseUrl" });
const queuedBatches = <A extends Pick<Shape, "batch" | "dispatch">>(arm: A): A =>
  arm.batch === "provider" ? { ...arm, dispatch: "queued" as const } : arm;
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
const openaiArm = openaiShape
  .superRefine((arm, context) => {
    if (arm.baseUrl === undefined && arm.endpoints === undefined)
      context.addIssue({ code: "custom", path: ["baseUrl"], message: "missing; or list several in endpoints" });
    checkAddresses(arm, context);
    if (arm.batch === "provider" && arm.baseUrl === undefined) refuseSeveral(context);
  })
  .transform(queuedBatches);
/** Default base URL of anthropic arms. */
export const anthropicUrl = "https://api.anthropic.com";
const anthropicArm = z
  .strictObject({
    ...endpointArm,
    type: z.literal("anthropic"),
    /** With or without /v1. Absent: Anthropic's own. */
    baseUrl: httpUrl.optional(),
    /**
     * The model's longest answer, which is sent where neither the request nor maxTokens says
     * another: the Messages API needs one.
     */
    maxOutputTokens: count.default(32_000),
  })
  .superRefine(checkAddresses)
  .transform(queuedBatches);
const linked = z.strictObject({
  /**
   * Which tokens of a linked prompt are recomputed; auto: by measured divergence and kind of chunk.
   * Others: docs/linked-prefill.md.
   */
  policy: z
    .string()
    .superRefine((name, context) => {
      if (name === "auto") return;
      const policy = parsePolicy(name);
      if ("problem" in policy) context.addIssue({ code: "custom", message: `${policy.problem}, or auto` });
    })
    .default("auto"),
  /**
   * Prefix of cached chunks: none, the system prompt, that and the two nearest chunks of their
   * first prompt, or the whole prefix of their first prompt.
   */
  convention: z.enum(["alone", "system", "context", "seen"]).default("context"),
  /**
   * Caches of chunks, and a quarter of it the beginnings of conversations. Absent: what four
   * prompts of contextTokens take, 256 MiB to 4 GiB.
   */
  memoryBytes: bytes.optional(),
  /** Under the stack folder, in kv/ARM. */
  diskBytes: bytes.default(2_048 * 1_048_576),
  /** idle: caches of examples are made before a request shows them, while none is under way. */
  build: z.enum(["idle", "off"]).default("idle"),
  /** Share of requests, [0, 1], whose linked prefill is compared with a full one in idle time. */
  sampleShare: z.number().min(0).max(1).default(0.01),
  /** auto: allowed mean divergence from a full prefill, in nats, by kind of chunk. */
  maxKl: z.strictObject({ short: factorAboveNone.default(0.1), long: factorAboveNone.default(0.1) }).prefault({}),
});
const llamaArm = z.strictObject({
  ...armBase,
  type: z.literal("llama"),
  // Or a name of the registry (models.ts).
  /** A GGUF file; absent: SmolLM2-135M-Instruct as set-up fetches it. */
  model: z.string().optional(),
  /**
   * A file with the model's chat template (Jinja), where the GGUF has none or one that does not
   * work.
   */
  chatTemplate: z.string().optional(),
  contextTokens: z.number().int().min(1).max(16_777_216).default(2048),
  threads: z.number().int().min(1).max(1_024).default(1),
  /**
   * cpu; auto: the first discrete GPU, else an integrated one, else the CPU; gpu: layers split over
   * all discrete GPUs, or a failure; or one device's name.
   */
  device: z
    .string()
    .regex(/^[A-Za-z][\w:.-]{0,63}$/, { error: "must be cpu, auto, gpu, or a name as precedent doctor lists them" })
    .default("cpu"),
  /** Layers on the device, from the last; absent: all. */
  gpuLayers: countOrNone.optional(),
  /**
   * auto: on if the device supports it. Off needs kvType f16. Caches made with and without it are
   * never mixed.
   */
  flashAttention: z.enum(["auto", "on", "off"]).default("auto"),
  /**
   * Type of keys and values, in the context and in caches: q8_0 takes half of the bytes and rounds
   * more. It needs heads of a multiple of 64 dimensions.
   */
  kvType: z.enum(["f16", "q8_0"]).default("f16"),
  concurrency: z.number().int().min(1).max(64).default(1),
  /** queued only: it computes, and would compete with plan. */
  dispatch: z
    .enum(["queued", "inline"])
    .refine((dispatch) => dispatch === "queued", {
      error:
        "a llama arm can't be inline, for it computes and plan would compete with it (openai and recorded arms can); write queued, or leave it out",
    })
    .default("queued"),
  /** Time without a token, while requests wait, after which its process is killed and restarted. */
  stallMs: milliseconds.default(60_000),
  /** Linked prefill: the caches of system prompts, examples and documents are computed once. */
  linked: linked.prefault({}),
});
const recordedArm = z.strictObject({
  ...armBase,
  type: z.literal("recorded"),
  /** JSONL of {request, response | responses[], arm?, model?, usage?, cost?, latencyMs?}. */
  file: z.string(),
  model: z.string().default("recorded"),
  /** Simulated time of an answer whose line gives none; it holds one of the slots meanwhile. */
  latencyMs: z.number().min(0).max(3_600_000).default(0),
  /**
   * Up to this much more, in ms, evenly and fixed by the request's id: answers come out of order.
   */
  latencySpreadMs: z.number().min(0).max(3_600_000).default(0),
});
const reuseArm = z.strictObject({
  ...armBase,
  type: z.literal("reuse"),
  /** inline only: there is nothing to wait for. */
  dispatch: z.literal("inline").default("inline"),
  /** Tenants whose requests it may answer: names, or "*" for all. Default: none. */
  tenants: z
    .array(z.union([name, z.literal("*")]))
    .max(10_000)
    .default([]),
  /** Cosine from which an example's answer may be given. */
  minimumSimilarity: z.number().min(0).max(1).default(0.8),
  /**
   * Predicted chance that the answer is the right one, from which it may be given
   * (algorithms/routing/reuse-quality.ts).
   */
  minimumQuality: z.number().min(0).max(1).default(0.85),
  /**
   * Share of the requests that it could answer which another arm answers instead, so that both
   * answers can be compared.
   */
  verifyShare: z.number().min(0.001).max(1).default(0.1),
  /** Share of wrong answers above which it is switched off, per sharing domain. */
  limit: z.number().min(0.001).max(0.99).default(0.1),
  /** Confidence with which the true share is below the limit while it is on. */
  confidence: z.number().min(0.5).max(0.9999).default(0.95),
  /** Token F1 with the other arm's answer below which the example's answer counts as wrong. */
  agreement: z.number().min(0).max(1).default(0.5),
  /** Verified cases before this time don't count: set it to start again from none (ISO 8601). */
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

/** Whether the arm answers lines of batches alone, through its provider's batches. */
export const answersBatches = (arm: ArmConfig): boolean => isEndpoint(arm) && arm.batch === "provider";

/** Whether the arm is an endpoint, called over HTTP. */
export const isEndpoint = (arm: ArmConfig): arm is EndpointArmConfig =>
  arm.type === "openai" || arm.type === "anthropic";
