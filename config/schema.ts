// The configuration, whole: every key, its type, range and default. Unknown keys are refused.
import { z } from "zod";
import { parsePolicy } from "../algorithms/link-policy.ts";

const name = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, "lower-case letters, digits and dashes, at most 63");
const milliseconds = z.number().int().positive();
const price = z.number().nonnegative();

const kafka = z.strictObject({
  /** Absent: the embedded stack's broker. */
  brokers: z.array(z.string()).min(1).optional(),
  ssl: z.boolean().default(false),
  sasl: z
    .strictObject({
      mechanism: z.enum(["plain", "scram-sha-256", "scram-sha-512"]),
      username: z.string(),
      password: z.string(),
    })
    .optional(),
  prefix: z
    .string()
    .regex(/^[A-Za-z0-9._-]*$/)
    .default("precedent."),
  partitions: z.number().int().min(1).max(1024).default(8),
  replicationFactor: z.number().int().min(1).default(1),
  sessionTimeoutMs: milliseconds.default(30_000),
});

const registry = z.strictObject({
  /** Absent: the embedded stack's registry. */
  url: z.url().optional(),
  username: z.string().optional(),
  password: z.string().optional(),
});

const clickhouse = z.strictObject({
  /** Absent: the embedded stack's chdb behind its HTTP facade. */
  url: z.url().optional(),
  database: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
    .default("precedent"),
  username: z.string().default("default"),
  password: z.string().default(""),
  /** Name of a cluster: tables become Replicated and Distributed. */
  cluster: z.string().optional(),
  /** Days that raw records are kept; 0 keeps them for ever. */
  ttlDays: z.number().int().min(0).default(90),
});

const embedder = z.strictObject({
  /** Folder with model.onnx and tokenizer.json; absent: all-MiniLM-L6-v2 as set-up makes it. */
  model: z.string().optional(),
  threads: z.number().int().min(1).max(16).default(1),
  maxBatch: z.number().int().min(1).max(256).default(8),
  cacheEntries: z.number().int().min(0).default(50_000),
  /** Texts of requests that may wait for the model; a request that finds more goes on without examples and says so. */
  maxWaiting: z.number().int().min(1).max(16_384).default(1_024),
});

const selection = z.strictObject({
  /** Examples shown at most. */
  examples: z.number().int().min(0).max(64).default(5),
  /** Candidates found by similarity. */
  candidates: z.number().int().min(1).max(1024).default(32),
  /** Less similar ones are no candidates; until a proxy is learnt also the threshold of helpfulness. */
  minimumSimilarity: z.number().min(-1).max(1).default(0.3),
  /** Tokens that examples may add to a prompt, unless the arm says otherwise. */
  tokenBudget: z.number().int().min(0).default(1500),
  /** Cosine from which an example says the same as one already taken, and is left out. */
  nearDuplicate: z.number().min(0).max(1).default(0.99),
  /** Lambda of maximal marginal relevance: 1 goes by helpfulness alone, less shuns what resembles an example already taken. */
  relevance: z.number().min(0).max(1).default(1),
  /** Added to the helpfulness of an example whose cache the arm has at hand, to choose between near-equals; 0: none. Never lets one pass the threshold. */
  cachedBonus: z.number().min(0).max(0.1).default(0.02),
  /** Requests from which selection learns; one is in at most one of the shares. */
  explore: z
    .strictObject({
      /** Share on which one candidate, drawn evenly, is forced into the prompt or kept out of it, by equal chance. */
      trials: z.number().min(0).max(0.5).default(0.02),
      /** Share that is served under another threshold of helpfulness, drawn evenly from the grid; once a proxy is learnt. */
      thresholds: z.number().min(0).max(0.5).default(0.02),
      /** The thresholds that are tried. */
      grid: z.array(z.number().min(0).max(1)).min(1).max(16).default([0.4, 0.45, 0.5, 0.55, 0.6]),
    })
    .prefault({}),
  /** Where examples are held: all of them by every plan process (global), those of its partitions (shared), or shared above shareAbove (auto). */
  pool: z.enum(["auto", "global", "shared"]).default("auto"),
  /** Examples from which on each plan process holds only what its partitions need. */
  shareAbove: z.number().int().min(0).default(100_000),
  /** Shared: examples of a partition that went to another process are kept up to date for so long, in ms; rebalances return it. */
  graceMs: z.number().int().min(0).default(60_000),
});

const documents = z.strictObject({
  /** Where a document is cut into pieces that are cached each on its own: at paragraphs, lines and sentences, or wherever a piece is full. */
  split: z.enum(["meaning", "size"]).default("meaning"),
  /** Estimated tokens that a piece has at most. */
  chunkTokens: z.number().int().min(16).max(8192).default(512),
});

const routing = z.strictObject({
  /** lambda_c: the price of cost in quality; 0 is quality alone. */
  costWeight: z.number().min(0).default(0.3),
  /** Arm that answers when routing is degraded; the first by default. */
  defaultArm: name.optional(),
  /** Prior of every arm's weights: N(mean, variance); mean on the constant feature only. */
  priorMean: z.number().min(0).max(1).default(0.5),
  priorVariance: z.number().positive().default(0.25),
  /** Variance of a reward around its prediction. */
  noiseVariance: z.number().positive().default(0.1),
});

const learn = z.strictObject({
  /** Time between two looks at what is new. */
  everyMs: milliseconds.default(2_000),
  /** After so many hours a reward counts half. */
  halfLifeHours: z.number().positive().default(168),
  /** Rewarded requests before anything is published. */
  minimumRewards: z.number().int().min(1).default(1),
  /** What changes less than a hundredth of the rewards is published only when the newest version is this old, in milliseconds. */
  settleMs: z.number().int().min(0).default(60_000),
  /** The model of which examples help. */
  proxy: z
    .strictObject({
      /** Hours between two trainings; absent: only when `precedent proxy train` is run. */
      everyHours: z.number().positive().optional(),
      /** Rows of evidence before it is trained. */
      minimumRows: z.number().int().min(1).default(500),
      /** Rows that it is trained on at most: trials first, the newest of each kind. */
      rows: z.number().int().min(1).max(1_000_000).default(50_000),
    })
    .prefault({}),
  /** The helpfulness that an example must have to be shown. */
  threshold: z
    .strictObject({
      /** Time between two looks at how the thresholds do. */
      everyMs: milliseconds.default(60_000),
      /** Rewarded requests under a threshold, and under the one in force, before it can take its place. */
      minimumRequests: z.number().int().min(2).default(200),
      /** Price of 1,000 tokens of examples, in quality. */
      tokenPrice: z.number().min(0).default(0.05),
    })
    .prefault({}),
});

const curate = z.strictObject({
  /** Time between two looks at what is new. */
  everyMs: milliseconds.default(5_000),
  admit: z
    .strictObject({
      /** Rewarded at least so well an answer becomes an example; [0, 1]. */
      minimumQuality: z.number().min(0).max(1).default(0.8),
      /** Arms (or sources of observations) whose answers may; absent: any. */
      arms: z.array(z.string()).min(1).optional(),
      /** Tenants whose answers may; absent: all. */
      tenants: z.array(z.string()).min(1).optional(),
      /** Of request and response together. */
      maxBytes: z.number().int().positive().default(16_384),
      /** Cosine from which two requests of a domain are the same: only the better answer stays. */
      nearDuplicate: z.number().min(0).max(1).default(0.97),
      /** Days that an example lives; 0: for ever. */
      ttlDays: z.number().min(0).default(90),
    })
    .prefault({}),
  evict: z
    .strictObject({
      everyMs: milliseconds.default(60_000),
      /** Of all texts and embeddings. */
      budgetBytes: z
        .number()
        .int()
        .positive()
        .default(256 * 1_048_576),
      /** Hours in which a new example is not evicted for room. */
      graceHours: z.number().min(0).default(1),
      /** A use by a cheaper arm is an offload from this quality on. */
      offloadQuality: z.number().min(0).max(1).default(0.6),
    })
    .prefault({}),
  replay: z
    .strictObject({
      /** Examples tried in a run at most. */
      top: z.number().int().positive().default(20),
      /** Answers asked for each. */
      samples: z.number().int().min(1).max(16).default(3),
      temperature: z.number().min(0).max(2).default(0.8),
      /** Tokens and money (in the prices' currency) that a run may use. */
      budgetTokens: z.number().int().positive().default(100_000),
      budgetCost: z.number().nonnegative().optional(),
    })
    .prefault({}),
  personalData: z
    .strictObject({
      /** Replace public IPv4 addresses as well. */
      ipAddresses: z.boolean().default(false),
    })
    .prefault({}),
});

const limits = z.strictObject({
  maxPromptBytes: z.number().int().positive().default(1_048_576),
  deadlineMs: milliseconds.default(120_000),
  inFlight: z.number().int().min(1).max(16_384).default(256),
  inFlightBytes: z
    .number()
    .int()
    .positive()
    .default(64 * 1_048_576),
  drainMs: milliseconds.default(10_000),
});

const armBase = {
  name,
  /** Whether it gets the examples. */
  examples: z.boolean().default(true),
  /** Tokens that examples may add to its prompts; absent: selection.tokenBudget. */
  tokenBudget: z.number().int().min(0).optional(),
  /** How examples stand in a prompt: as chat turns before the question (can be linked), or as guidance in the question's own turn, which stands before and after it. */
  template: z.enum(["chat-turns", "guided"]).default("chat-turns"),
  maxTokens: z.number().int().positive().default(256),
  /** Stop strings where the request has none; not part of the answer. */
  stop: z.array(z.string().min(1)).max(16).default([]),
  concurrency: z.number().int().positive().default(8),
  /** Per million tokens. */
  prices: z.strictObject({ prompt: price, completion: price }).default({ prompt: 0, completion: 0 }),
  /** Normalised cost C_i in [0, 1]; absent: from the prices, relative to the dearest arm. */
  cost: z.number().min(0).max(1).optional(),
  system: z.string().optional(),
};
const openaiArm = z.strictObject({
  ...armBase,
  type: z.literal("openai"),
  baseUrl: z.url(),
  apiKey: z.string().default(""),
  model: z.string(),
  timeoutMs: milliseconds.default(60_000),
  retries: z.number().int().min(0).max(10).default(3),
  requestsPerMinute: z.number().int().positive().optional(),
  stream: z.boolean().default(true),
  /** How the endpoint calls the most tokens of an answer. */
  maxTokensField: z.enum(["max_tokens", "max_completion_tokens"]).default("max_tokens"),
});
const linked = z.strictObject({
  /** What of a linked prompt is computed again: full (nothing is linked), naive, attnlink-K, blend-R, craft-ALPHA, last-M, last-M+ANOTHER, or auto (docs/linked-prefill.md). */
  policy: z
    .string()
    .superRefine((name, context) => {
      if (name === "auto") return;
      const policy = parsePolicy(name);
      if ("problem" in policy) context.addIssue({ code: "custom", message: `${policy.problem}, or auto` });
    })
    .default("last-2"),
  /** What chunks are prefilled behind when they are cached: nothing, the system prompt, that and the two chunks next to them in the prompt that brought them, or all that stood before them there. */
  convention: z.enum(["alone", "system", "context", "seen"]).default("context"),
  /** Caches of chunks, and a quarter of it the beginnings of conversations. */
  memoryBytes: z
    .number()
    .int()
    .positive()
    .default(256 * 1_048_576),
  /** Under the stack folder, in kv/ARM. */
  diskBytes: z
    .number()
    .int()
    .positive()
    .default(2_048 * 1_048_576),
  /** Share of the requests whose linked prefill is compared with a full one while nobody waits; [0, 1]. */
  sampleShare: z.number().min(0).max(1).default(0.01),
  /** auto: mean divergence from a full prefill that is allowed, in nats. */
  maxKl: z.number().positive().default(0.1),
});
const llamaArm = z.strictObject({
  ...armBase,
  type: z.literal("llama"),
  /** A GGUF file; absent: SmolLM2-135M-Instruct as set-up fetches it. */
  model: z.string().optional(),
  /** A file with the model's chat template (Jinja), where the GGUF has none or one that does not work. */
  chatTemplate: z.string().optional(),
  contextTokens: z.number().int().positive().default(2048),
  threads: z.number().int().min(1).default(1),
  concurrency: z.number().int().min(1).max(64).default(1),
  /** Without a token for so long while requests wait, its process is killed and another started. */
  stallMs: milliseconds.default(60_000),
  /** Linked prefill: the caches of system prompts, examples and documents are computed once. */
  linked: linked.prefault({}),
});
const recordedArm = z.strictObject({
  ...armBase,
  type: z.literal("recorded"),
  /** JSONL of {request, response | responses[], arm?, model?, usage?, cost?}. */
  file: z.string(),
  model: z.string().default("recorded"),
  /** Simulated time of an answer. */
  latencyMs: z.number().min(0).default(0),
  /** Up to this much more, in ms, evenly and fixed by the request's id: answers come out of order. */
  latencySpreadMs: z.number().min(0).default(0),
});
export const armSchema = z.discriminatedUnion("type", [openaiArm, llamaArm, recordedArm]);

export const configSchema = z
  .strictObject({
    kafka: kafka.prefault({}),
    registry: registry.prefault({}),
    clickhouse: clickhouse.prefault({}),
    stack: z.strictObject({ folder: z.string().default(".precedent") }).prefault({}),
    /** Stable id of this process; absent: the first free one kept under the stack folder. */
    instance: name.optional(),
    embedder: embedder.prefault({}),
    selection: selection.prefault({}),
    documents: documents.prefault({}),
    routing: routing.prefault({}),
    learn: learn.prefault({}),
    curate: curate.prefault({}),
    limits: limits.prefault({}),
    record: z
      .strictObject({ batchRows: z.number().int().positive().default(5_000), batchMs: milliseconds.default(1_000) })
      .prefault({}),
    log: z
      .strictObject({ level: z.enum(["trace", "debug", "info", "warn", "error", "silent"]).default("info") })
      .prefault({}),
    /** /metrics and /healthz; port 0 takes a free one. */
    http: z
      .strictObject({ host: z.string().default("127.0.0.1"), port: z.number().int().min(0).max(65_535).default(0) })
      .prefault({}),
    arms: z.array(armSchema).min(1).max(64),
  })
  .superRefine((config, context) => {
    const names = config.arms.map((arm) => arm.name);
    names.forEach((arm, index) => {
      if (names.indexOf(arm) !== index)
        context.addIssue({
          code: "custom",
          path: ["arms", index, "name"],
          message: `"${arm}" is the name of two arms`,
        });
    });
    const refuse = (path: string[], message: string): void => {
      context.addIssue({ code: "custom", path, message });
    };
    if (config.clickhouse.cluster !== undefined && config.clickhouse.url === undefined)
      refuse(["clickhouse", "cluster"], "the embedded ClickHouse is no cluster; set clickhouse.url as well");
    if (config.kafka.sasl !== undefined && config.kafka.brokers === undefined)
      refuse(["kafka", "sasl"], "the embedded broker takes no credentials; set kafka.brokers as well");
    if (config.registry.password !== undefined && config.registry.username === undefined)
      refuse(["registry", "password"], "a password without a registry.username");
    const fallback = config.routing.defaultArm;
    if (fallback !== undefined && !names.includes(fallback))
      context.addIssue({
        code: "custom",
        path: ["routing", "defaultArm"],
        message: `"${fallback}" is no arm; there are ${names.join(", ")}`,
      });
  });

export type Config = z.infer<typeof configSchema>;
export type ArmConfig = z.infer<typeof armSchema>;
export type OpenAiArmConfig = Extract<ArmConfig, { type: "openai" }>;
export type LlamaArmConfig = Extract<ArmConfig, { type: "llama" }>;
export type RecordedArmConfig = Extract<ArmConfig, { type: "recorded" }>;
