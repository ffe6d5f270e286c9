// The stream of a chat completion: server-sent events, each a piece of the answer. The client's own
// reader takes as long again as everything else of a call.
import { APIError } from "openai";
import { createParser } from "eventsource-parser";
import { parsedPiece, type CompletionPart } from "./completion.ts";
import { NotACompletion } from "./errors.ts";

/**
 * Resolves at the stream's end. Throws what connection and onPart do, APIError, SyntaxError, or
 * NotACompletion for an event above `most` characters.
 */
export async function readStream(
  response: Response,
  most: number,
  onPart: (part: CompletionPart) => void,
): Promise<void> {
  let done = false;
  const parser = createParser({
    maxBufferSize: most,
    onEvent({ data }) {
      // What follows is read and not looked at, so that the connection can be used again.
      done ||= data.startsWith("[DONE]");
      if (done) return;
      const value: unknown = JSON.parse(data);
      if (typeof value === "object" && value !== null && "error" in value && Boolean(value.error))
        throw new APIError(undefined, value.error as object, undefined, response.headers);
      onPart(parsedPiece(value));
    },
    onError({ type }) {
      if (type === "max-buffer-size-exceeded") throw new NotACompletion();
    },
  });
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) parser.feed(decoder.decode(bytes as Uint8Array, { stream: true }));
}
