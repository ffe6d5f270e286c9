// A response in the stream events of OpenAI's Responses API: named and numbered. Items begin in the
// order of their first pieces and may interleave.
import type { CallPiece, Response } from "../../../schemas/types.ts";
import { errorBody, type ApiError } from "../../errors.ts";
import type { Chunks } from "../chunks.ts";
import { pieceOf } from "../tool-pieces.ts";
import { refusalOf } from "../response.ts";
import {
  callId,
  callItem,
  callsOf,
  finishedResponse,
  messageItem,
  openResponse,
  refusalPart,
  textPart,
  type ResponseOf,
} from "./answer.ts";

const noCall = { call_id: "", name: "", arguments: "", isCustom: false };

export function createResponseEvents(of: ResponseOf): Chunks {
  let number = 0;
  const event = (type: string, more: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number++, ...more })}\n\n`;
  /** Items begun, the message or the index of a call, with their positions. */
  const positions = new Map<"message" | number, number>();
  const begin = (item: "message" | number) => positions.set(item, positions.size);
  /** Calls of custom tools, by index. */
  const customs = new Set<number>();
  const at = (item: "message" | number) => ({
    item_id: item === "message" ? `msg_${of.requestId}` : callId(of.requestId, item, customs.has(item)),
    output_index: positions.get(item),
  });

  const beginMessage = (part: object): string => {
    begin("message");
    const { item_id, output_index } = at("message");
    return (
      event("response.output_item.added", { output_index, item: messageItem(of.requestId, "in_progress", []) }) +
      event("response.content_part.added", { item_id, output_index, content_index: 0, part })
    );
  };
  const text = (delta: string): string => {
    const begun = positions.has("message") ? "" : beginMessage(textPart(""));
    return begun + event("response.output_text.delta", { ...at("message"), content_index: 0, delta, logprobs: [] });
  };
  const ofCall = (index: number): string => (customs.has(index) ? "custom_tool_call_input" : "function_call_arguments");
  const call = ({ index, id, type, name, arguments: delta }: CallPiece): string => {
    let begun = "";
    if (!positions.has(index)) {
      begin(index);
      const isCustom = type === "custom";
      if (isCustom) customs.add(index);
      const first = { call_id: id ?? "", name: name ?? "", arguments: "", isCustom };
      const item = callItem(of, index, "in_progress", first);
      begun = event("response.output_item.added", { output_index: at(index).output_index, item });
    }
    return begun + (delta === "" ? "" : event(`response.${ofCall(index)}.delta`, { ...at(index), delta }));
  };

  return {
    begin: () =>
      event("response.created", { response: openResponse(of) }) +
      event("response.in_progress", { response: openResponse(of) }),
    text,
    calls: (pieces) => pieces.map(call).join(""),
    end(response: Response, rest) {
      const calls = callsOf(response);
      const last = rest.map((piece) => call(pieceOf(piece))).join("");
      // Where its text was sent already, a refusal ends as the text that it began as.
      const refusal = positions.has("message") ? null : refusalOf(response);
      const refused =
        refusal === null
          ? ""
          : beginMessage(refusalPart("")) +
            event("response.refusal.delta", { ...at("message"), content_index: 0, delta: refusal });
      // An answer of nothing is an empty message.
      const empty = positions.size === 0 ? beginMessage(textPart("")) : "";
      const part = refusal === null ? textPart(response.text) : refusalPart(refusal);
      const content = refusal === null ? { text: response.text, logprobs: [] } : { refusal };
      const itemOf = (item: "message" | number, status: string): object =>
        item === "message"
          ? messageItem(of.requestId, status, [part])
          : callItem(of, item, status, calls[item] ?? noCall);
      const finished = finishedResponse(response, of, (status) =>
        [...positions.keys()].map((item) => itemOf(item, status)),
      );
      const done = [...positions.keys()].map((item) => {
        const where = at(item);
        const whole = { output_index: where.output_index, item: itemOf(item, finished.status) };
        if (item !== "message") {
          const { name, arguments: all, isCustom } = calls[item] ?? noCall;
          const said = isCustom ? { input: all } : { name: of.namespaces?.get(name)?.name ?? name, arguments: all };
          const last = event(`response.${ofCall(item)}.done`, { ...where, ...said });
          return last + event("response.output_item.done", whole);
        }
        return [
          event(`response.${part.type}.done`, { ...where, content_index: 0, ...content }),
          event("response.content_part.done", { ...where, content_index: 0, part }),
          event("response.output_item.done", whole),
        ].join("");
      });
      return [last, refused, empty, ...done, event(`response.${finished.status}`, { response: finished })].join("");
    },
    // As OpenAI does: some clients read the error alone, some the response that failed.
    error(error: ApiError) {
      const { message, code, param } = errorBody(error).error;
      const failed = { ...openResponse(of), status: "failed", error: { code, message } };
      return event("error", { message, code, param }) + event("response.failed", { response: failed });
    },
    heartbeat: ": waiting\n\n",
    hasRefusals: true,
  };
}
