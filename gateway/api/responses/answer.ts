// An answer in the format of OpenAI's Responses API: a message and function calls as items.
import { isObject, listOf } from "../../../algorithms/text/json-shape.ts";
import type { Response } from "../../../schemas/types.ts";
import type { Namespaces } from "./items.ts";
import type { Named } from "../../routes/answer.ts";
import { extraOf, openAiReason, ownFields, refusalOf, responseIdPrefix, usageOf } from "../response.ts";

export interface ResponseOf extends Named {
  /** Members of the request body that the answer repeats. */
  echo: Record<string, unknown>;
  /** Functions in namespaces; absent: there are none. */
  namespaces?: Namespaces;
}

/** A response in progress; also the members that all responses have. */
export const openResponse = ({ requestId, model, created, echo }: ResponseOf) => ({
  ...{ id: responseIdPrefix + requestId, object: "response", created_at: created, status: "in_progress" },
  ...{ error: null, incomplete_details: null, instructions: null, model },
  ...{ output: [] as object[], usage: null as object | null, previous_response_id: null },
  ...{ parallel_tool_calls: true, tool_choice: "auto", tools: [], metadata: {}, temperature: null, top_p: null },
  ...{ max_output_tokens: null, truncation: "disabled", text: { format: { type: "text" } } },
  ...echo,
});

export const messageItem = (requestId: string, status: string, content: object[]) => ({
  ...{ id: `msg_${requestId}`, type: "message", status, role: "assistant", content },
});
export const textPart = (text: string) => ({ type: "output_text", text, annotations: [], logprobs: [] });
export const refusalPart = (refusal: string) => ({ type: "refusal", refusal });

export interface Call {
  call_id: string;
  name: string;
  /** JSON, or the text of a custom tool. */
  arguments: string;
  isCustom: boolean;
}
export const callId = (requestId: string, index: number, isCustom: boolean): string =>
  `${isCustom ? "ctc" : "fc"}_${requestId}_${index}`;
export const callItem = ({ requestId, namespaces }: ResponseOf, index: number, status: string, call: Call) => {
  const { isCustom, arguments: text, ...own } = call;
  const of = { ...own, ...namespaces?.get(own.name) };
  const [type, said] = isCustom
    ? ["custom_tool_call", { ...of, input: text }]
    : ["function_call", { ...of, arguments: text }];
  return { id: callId(requestId, index, isCustom), type, status, ...said };
};

export const callsOf = (response: Response): Call[] =>
  listOf(extraOf(response).message["tool_calls"]).map((call) => {
    const { id, function: called, custom } = isObject(call) ? call : {};
    const isCustom = isObject(custom) && !isObject(called);
    const { name, arguments: given, input } = isCustom ? custom : isObject(called) ? called : {};
    const text = isCustom ? input : given;
    return { call_id: String(id), name: String(name), arguments: typeof text === "string" ? text : "", isCustom };
  });

/** output: the items in the order of their stream; absent: the message, then calls. */
export function finishedResponse(response: Response, of: ResponseOf, output?: (status: string) => object[]) {
  const reason = openAiReason(response);
  const cut = reason === "length" ? "max_output_tokens" : reason;
  const isCut = cut === "max_output_tokens" || cut === "content_filter";
  const status = isCut ? "incomplete" : "completed";
  const { prompt_tokens, completion_tokens, total_tokens, ...details } = usageOf(response);
  const calls = callsOf(response);
  const hasMessage = response.text !== "" || calls.length === 0;
  const refusal = refusalOf(response);
  const part = refusal === null ? textPart(response.text) : refusalPart(refusal);
  const items = () => [
    ...(hasMessage ? [messageItem(of.requestId, status, [part])] : []),
    ...calls.map((call, index) => callItem(of, index, status, call)),
  ];
  return {
    ...openResponse(of),
    ...{ status, incomplete_details: isCut ? { reason: cut } : null },
    output: output?.(status) ?? items(),
    usage: {
      ...{ input_tokens: prompt_tokens, output_tokens: completion_tokens, total_tokens },
      // OpenAI's clients add it up.
      input_tokens_details: { cache_write_tokens: 0, ...details.prompt_tokens_details },
      output_tokens_details: details.completion_tokens_details,
    },
    precedent: ownFields(response),
  };
}
