// A response as a chat completion, and as its chunks in a stream. Only answers: what failed is an
// error (errors.ts).
import { finishReasonOf, type FinishReason } from "../../algorithms/text/finish-reason.ts";
import { isObject } from "../../algorithms/text/json-shape.ts";
import { nativeAnswerMember, type NativePiece } from "../../algorithms/text/message-blocks.ts";
import { thoughtIn } from "../../algorithms/text/thoughts.ts";
import type { Response, ThoughtPiece } from "../../schemas/types.ts";

/** The id of a completion names its request. */
const idPrefix = "chatcmpl-";
export const responseIdPrefix = "resp_";
export const messageIdPrefix = "msg_";
export const textIdPrefix = "cmpl-";
const prefixes = [idPrefix, responseIdPrefix, messageIdPrefix, textIdPrefix];
export const completionId = (requestId: string): string => idPrefix + requestId;
export const requestIdOf = (id: string): string => id.slice(prefixes.find((one) => id.startsWith(one))?.length ?? 0);

const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1_000);

export const usageOf = ({ usage }: Pick<Response, "usage">) => ({
  prompt_tokens: usage.prompt,
  completion_tokens: usage.completion,
  total_tokens: usage.prompt + usage.completion,
  // Tokens from a provider's cache or linked KV caches; cache_write_tokens is OpenRouter's name.
  prompt_tokens_details: {
    cached_tokens: usage.cached,
    ...(usage.cacheWrite > 0 && { cache_write_tokens: usage.cacheWrite }),
  },
  completion_tokens_details: { reasoning_tokens: usage.reasoning },
});

/** What OpenAI's format has no field for. */
export const ownFields = (response: Response) => ({
  request_id: response.requestId,
  ...{ arm: response.arm, model: response.model },
  source: response.source,
  cost: response.cost,
  // The endpoint reported no tokens that can be right.
  ...(response.usage.estimated && { cost_estimated: true }),
  duplicate: response.duplicate,
  examples: response.exampleIds,
  degraded: response.degraded,
  asked: response.asked,
  alternative: response.alternative,
  timings: response.timings,
});

/** OpenAI's words alone: typed clients refuse an answer whose reason they do not know. */
export function openAiReason({ finishReason }: Pick<Response, "finishReason">): Exclude<FinishReason, "unknown"> {
  const reason = finishReasonOf(finishReason) ?? "stop";
  return reason === "error" || reason === "unknown" ? "stop" : reason;
}

interface Extra {
  message: Record<string, unknown>;
  logprobs: unknown;
}
export function extraOf({ passthrough }: Pick<Response, "passthrough">): Extra {
  const read = passthrough === null ? {} : (JSON.parse(passthrough) as Partial<Extra>);
  return { message: read.message ?? {}, logprobs: read.logprobs ?? null };
}

/** An answer in Anthropic's format as it came; `end`: its last event. */
interface NativeAnswer {
  pieces: NativePiece[];
  end: Record<string, unknown>;
  usage: Record<string, unknown>;
}

/** null: arm or client uses another format. */
export function nativeAnswer(response: Pick<Response, "passthrough">): NativeAnswer | null {
  const native = extraOf(response).message[nativeAnswerMember];
  if (!isObject(native) || !Array.isArray(native["pieces"])) return null;
  const { pieces, end, usage } = native;
  const read = (pieces as unknown[])
    .filter(isObject)
    .flatMap(({ head, text }): NativePiece[] =>
      isObject(head) ? [{ head, text: typeof text === "string" ? text : "" }] : [],
    );
  return { pieces: read, end: isObject(end) ? end : {}, usage: isObject(usage) ? usage : {} };
}

/** What the model thought, in a member that streams have in pieces; null: nothing. */
export const thoughtsOf = (response: Pick<Response, "passthrough">): ThoughtPiece | null =>
  thoughtIn(extraOf(response).message);

/** The text, where the model refused to answer; null: it is an answer. */
export function refusalOf(response: Pick<Response, "passthrough" | "text">): string | null {
  const { refusal } = extraOf(response).message;
  return typeof refusal === "string" && refusal === response.text && refusal !== "" ? refusal : null;
}

/** As OpenAI has it: a refusal, or no text beside calls of tools, is null. */
export function isContentNull(response: Pick<Response, "passthrough" | "text">): boolean {
  const { message } = extraOf(response);
  const calls = "tool_calls" in message || "function_call" in message;
  return (response.text === "" && calls) || refusalOf(response) !== null;
}

const messageOf = (response: Response): object => ({
  ...{ role: "assistant", content: isContentNull(response) ? null : response.text, refusal: null },
  ...extraOf(response).message,
});

/** others: further answers; the first already includes their tokens and cost. */
export const chatCompletion = (response: Response, { model }: { model: string }, others: readonly Response[] = []) => ({
  id: completionId(response.requestId),
  object: "chat.completion",
  created: seconds(response.createdAt),
  model,
  choices: [response, ...others].map((one, index) => ({
    index,
    message: messageOf(one),
    logprobs: extraOf(one).logprobs,
    finish_reason: openAiReason(one),
  })),
  usage: usageOf(response),
  precedent: ownFields(response),
});

/** Beside every answer; cost in the currency of the prices. */
export const responseHeaders = (response: Response): Record<string, string> => ({
  "x-precedent-request-id": headerValue(response.requestId),
  ...(response.arm === null ? {} : { "x-precedent-arm": headerValue(response.arm) }),
  "x-precedent-source": response.source,
  "x-precedent-cost": String(response.cost),
  ...(response.asked ? { "x-precedent-asked": "true" } : {}),
  ...(response.alternative === null ? {} : { "x-precedent-alternative": headerValue(response.alternative) }),
  ...(response.duplicate ? { "x-precedent-duplicate": "true" } : {}),
});

/** Headers are ASCII. */
const headerValue = (text: string): string => text.replace(/[^\x20-\x7e]/g, "?");
