// What of an answer may be sent to a reader when: pieces of its text and of its calls of tools come
// best effort and may begin again with another attempt, the response is final. What was sent is
// never taken back: it goes on only with what begins with it, and all that was sent together is the
// text and the calls of the response. Linear in the length of the pieces.
import type { CallPiece, Delta, Response } from "../schemas/types.ts";
import { extraOf } from "./api/response.ts";
import { createPrefixGuard } from "./prefix-guard.ts";
import { createStreamCalls } from "./stream-calls.ts";

/** Behind what was sent. */
export interface Parts {
  text: string;
  /** As chunks have them. */
  calls: readonly object[];
}

export interface StreamParts {
  take(delta: Pick<Delta, "attempt" | "index" | "text" | "calls">): void;
  /** What may be sent now and counts as sent. */
  next(): { text: string; calls: CallPiece[] };
  /**
   * What is left to send of the final answer; null: what was sent is not its beginning, and the
   * stream must end in an error.
   */
  rest(response: Pick<Response, "text" | "passthrough">): Parts | null;
}

export function createStreamParts(): StreamParts {
  const text = createPrefixGuard();
  const calls = createStreamCalls();
  let attempt = 0;
  let expected = 0;
  let isComplete = false;

  return {
    take(delta) {
      if (delta.index === 0) {
        text.restart();
        calls.restart();
        attempt = delta.attempt;
        expected = 0;
        isComplete = true;
      }
      // A piece is missing, or of another attempt: the response will tell.
      if (!isComplete || delta.attempt !== attempt || delta.index !== expected) {
        isComplete = false;
        return;
      }
      expected++;
      text.add(delta.text);
      for (const piece of delta.calls) calls.add(piece);
    },
    next: () => (calls.agree() && text.agrees() ? { text: text.next(), calls: calls.next() } : { text: "", calls: [] }),
    rest(response) {
      const ofText = text.rest(response.text);
      const ofCalls = calls.rest(extraOf(response).message["tool_calls"]);
      return ofText === null || ofCalls === null ? null : { text: ofText, calls: ofCalls };
    },
  };
}
