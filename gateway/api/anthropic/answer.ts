// A response as a message of Anthropic's API. Tool inputs are copied as the model wrote them.
import { exactJson } from "../../../algorithms/text/exact-json.ts";
import { inputOf, isObject, listOf } from "../../../algorithms/text/json-shape.ts";
import type { Response } from "../../../schemas/types.ts";
import { blocksOf, toolUseOf } from "../../../algorithms/text/message-blocks.ts";
import { extraOf, messageIdPrefix, nativeAnswer, openAiReason, ownFields } from "../response.ts";
import { ApiError } from "../../errors.ts";
import type { Named } from "../../routes/answer.ts";

const messageId = (requestId: string): string => messageIdPrefix + requestId;

const stopReasons: Readonly<Record<ReturnType<typeof openAiReason>, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  ...{ tool_calls: "tool_use", function_call: "tool_use" },
  content_filter: "refusal",
};
/** Endpoints say stop where the client named the tool that is called. */
export function ending(response: Response): { stop_reason: string; stop_sequence: string | null } {
  const reason = openAiReason(response);
  const hasCalls = listOf(extraOf(response).message["tool_calls"]).length > 0;
  const stop_sequence = reason === "stop" && !hasCalls ? response.stopSequence : null;
  const stop_reason = stopReasons[reason === "stop" && hasCalls ? "tool_calls" : reason];
  return { stop_reason: stop_sequence === null ? stop_reason : "stop_sequence", stop_sequence };
}

/** Its last call may be incomplete. */
export const isCut = (response: Response): boolean => ["length", "content_filter"].includes(openAiReason(response));

/** Anthropic counts tokens read from and written to its cache apart from the prompt's others. */
export function anthropicUsage({ usage: { prompt, cached, cacheWrite, completion } }: Pick<Response, "usage">) {
  return {
    input_tokens: Math.max(0, prompt - cached - cacheWrite),
    ...{ cache_read_input_tokens: cached, cache_creation_input_tokens: cacheWrite, output_tokens: completion },
  };
}

export const openMessage = ({ requestId, model }: Pick<Named, "requestId" | "model">) => ({
  ...{ id: messageId(requestId), type: "message", role: "assistant", model, content: [] as object[] },
  ...{ stop_reason: null as string | null, stop_sequence: null },
  usage: { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens: 0 },
});

/** JSON. Throws ApiError if the arguments of a tool call are not an object. */
export function finishedMessage(response: Response, of: Named): string {
  const native = nativeAnswer(response);
  if (native !== null)
    return exactJson({
      ...openMessage(of),
      content: blocksOf(native.pieces),
      ...nativeEnd(response, native.end),
      ...{ usage: { ...anthropicUsage(response), ...native.usage }, precedent: ownFields(response) },
    });
  const all = listOf(extraOf(response).message["tool_calls"]);
  const last = all.at(-1);
  const calls = (isCut(response) && last !== undefined && !isWhole(last) ? all.slice(0, -1) : all).map(toolUse);
  const text = response.text === "" ? [] : [{ type: "text", text: response.text }];
  return exactJson({
    ...openMessage(of),
    content: [...text, ...calls],
    ...ending(response),
    ...{ usage: anthropicUsage(response), precedent: ownFields(response) },
  });
}

/** Members of the endpoint's last events, unchanged. */
function nativeEnd(response: Response, { delta, ...more }: Record<string, unknown>): object {
  return { ...more, ...ending(response), ...(isObject(delta) ? delta : {}) };
}

const isWhole = (call: unknown): boolean =>
  isObject(call) && isObject(call["function"]) && inputOf(call["function"]["arguments"]) !== null;

const toolUse = (call: unknown): object =>
  toolUseOf(call, (name) => brokenCall(typeof name === "string" ? name : "a tool"));

export const brokenCall = (name: string): ApiError =>
  new ApiError({
    ...{ status: 502, code: "invalid_tool_arguments" },
    message: `The model called ${name.slice(0, 80)} with arguments that are no JSON object: ask again.`,
  });
