// The members of a chat completion's body that are read, and the values that say nothing.
import { z } from "zod";
import { messageSchema } from "./messages.ts";

const int32 = 2 ** 31 - 1;
/** Most answers of one request; each is a separate call. */
const mostAnswers = 16;
/** Whole numbers of ours are safe on every way they go (Avro, ClickHouse, JavaScript). */
const mostSeed = 2 ** 52;
const own = z.strictObject({
  domain: z.string().nullish(),
  documents: z
    .array(z.union([z.string(), z.strictObject({ id: z.string() }).transform(({ id }) => id)]))
    .max(256)
    .nullish(),
  allow: z
    .strictObject({
      arms: z.array(z.string()).min(1).max(64).nullish(),
      max_cost: z.number().min(0).nullish(),
      deadline_ms: z.number().int().min(1).max(86_400_000).nullish(),
      cost_weight: z.number().min(0).nullish(),
    })
    .nullish(),
  privacy: z
    .strictObject({ cache: z.boolean().nullish(), share: z.boolean().nullish(), fresh: z.boolean().nullish() })
    .nullish(),
  may_ask: z.boolean().nullish(),
  may_compare: z.boolean().nullish(),
});

const fields = {
  model: z.string().min(1).max(256),
  messages: z.array(messageSchema).min(1).max(65_536),
  max_tokens: z.number().int().min(1).max(int32).nullish(),
  max_completion_tokens: z.number().int().min(1).max(int32).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  seed: z.number().int().min(-mostSeed).max(mostSeed).nullish(),
  stop: z.union([z.string().min(1).max(1_024), z.array(z.string().min(1).max(1_024)).max(16)]).nullish(),
  n: z.number().int().min(1).max(mostAnswers).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  user: z.string().nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
  prompt_cache_key: z.string().max(1_024).nullish(),
  cache_salt: z.string().max(1_024).nullish(),
  precedent: own.nullish(),
};
/** Members that are read; others pass through. */
export const names = new Set(Object.keys(fields));
export const bodySchema = z.object(fields);

/** Values that say nothing: as if the parameter were left out. */
export const neutral = new Map<string, (value: unknown) => boolean>(
  Object.entries({
    frequency_penalty: (value: unknown) => value === 0,
    presence_penalty: (value: unknown) => value === 0,
    logprobs: (value: unknown) => value === false,
    top_logprobs: (value: unknown) => value === 0,
    logit_bias: (value: unknown) => isEmpty(value),
    tools: (value: unknown) => isEmpty(value),
    functions: (value: unknown) => isEmpty(value),
    tool_choice: (value: unknown) => value === "none" || value === "auto",
    function_call: (value: unknown) => value === "none" || value === "auto",
    parallel_tool_calls: (value: unknown) => typeof value === "boolean",
    response_format: (value: unknown) => isRecord(value) && value["type"] === "text",
    modalities: (value: unknown) => Array.isArray(value) && value.every((one) => one === "text"),
    service_tier: (value: unknown) => value === "auto" || value === "default",
    store: (value: unknown) => value === false,
    // A hint for the provider's moderation: there is no such provider here.
    safety_identifier: (value: unknown) => typeof value === "string",
  }),
);
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;
export const isEmpty = (value: unknown): boolean => isRecord(value) && Object.keys(value).length === 0;
