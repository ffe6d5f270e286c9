// A response as a chat completion, and as its chunks in a stream. Only answers: what failed is an
// error (errors.ts).
import type { Response } from "../../schemas/types.ts";

/** The id of a completion names its request. */
const idPrefix = "chatcmpl-";
export const completionId = (requestId: string): string => idPrefix + requestId;
export const requestIdOf = (id: string): string => (id.startsWith(idPrefix) ? id.slice(idPrefix.length) : id);

const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1_000);

export const usageOf = ({ usage }: Pick<Response, "usage">) => ({
  prompt_tokens: usage.prompt,
  completion_tokens: usage.completion,
  total_tokens: usage.prompt + usage.completion,
  // What was not computed again: a provider's own cache, or linked KV caches.
  prompt_tokens_details: { cached_tokens: Math.max(0, usage.prompt - usage.prefilled) },
});

/** What OpenAI's format has no field for. */
export const ownFields = (response: Response) => ({
  request_id: response.requestId,
  arm: response.arm,
  source: response.source,
  cost: response.cost,
  duplicate: response.duplicate,
  examples: response.exampleIds,
  degraded: response.degraded,
  timings: response.timings,
});

const modelName = ({ model, arm }: Pick<Response, "model" | "arm">): string => model ?? arm ?? "precedent";

/** OpenAI's words; endpoints say other things, too. */
export const finishReasonOf = ({ finishReason }: Pick<Response, "finishReason">): string =>
  finishReason === "length" || finishReason === "content_filter" ? finishReason : "stop";

export const chatCompletion = (response: Response) => ({
  id: completionId(response.requestId),
  object: "chat.completion",
  created: seconds(response.createdAt),
  model: modelName(response),
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: response.text, refusal: null },
      logprobs: null,
      finish_reason: finishReasonOf(response),
    },
  ],
  usage: usageOf(response),
  precedent: ownFields(response),
});

/** Beside every answer; cost in the currency of the prices. */
export const responseHeaders = (response: Response): Record<string, string> => ({
  "x-precedent-request-id": headerValue(response.requestId),
  ...(response.arm === null ? {} : { "x-precedent-arm": headerValue(response.arm) }),
  "x-precedent-source": response.source,
  "x-precedent-cost": String(response.cost),
  ...(response.duplicate ? { "x-precedent-duplicate": "true" } : {}),
});

/** Headers are ASCII. */
const headerValue = (text: string): string => text.replace(/[^\x20-\x7e]/g, "?");
