// A response in events, as OpenAI's Responses API streams it: numbered, each under its name.
import type { Response } from "../../schemas/types.ts";
import { errorBody, type ApiError } from "../errors.ts";
import type { Chunks } from "./chunks.ts";
import { finishedResponse, messageItem, openResponse, textPart, type ResponseOf } from "./responses.ts";

export function createResponseEvents(of: ResponseOf): Chunks {
  let number = 0;
  const event = (type: string, more: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number++, ...more })}\n\n`;
  const location = { item_id: `msg_${of.requestId}`, output_index: 0, content_index: 0 };
  return {
    begin: () =>
      [
        event("response.created", { response: openResponse(of) }),
        event("response.in_progress", { response: openResponse(of) }),
        event("response.output_item.added", { output_index: 0, item: messageItem(of.requestId, "in_progress", []) }),
        event("response.content_part.added", { ...location, part: textPart("") }),
      ].join(""),
    text: (delta) => event("response.output_text.delta", { ...location, delta, logprobs: [] }),
    // Tools are refused at this address (responses.ts).
    calls: () => "",
    end(response: Response) {
      const finished = finishedResponse(response, of);
      const item = messageItem(of.requestId, finished.status, [textPart(response.text)]);
      return [
        event("response.output_text.done", { ...location, text: response.text, logprobs: [] }),
        event("response.content_part.done", { ...location, part: textPart(response.text) }),
        event("response.output_item.done", { output_index: 0, item }),
        event(`response.${finished.status}`, { response: finished }),
      ].join("");
    },
    error(error: ApiError) {
      const { message, code, param } = errorBody(error).error;
      return event("error", { message, code, param });
    },
    heartbeat: ": waiting\n\n",
  };
}
