// What of an answer may be sent to a reader when: pieces come best effort and may begin again with
// another attempt, the response is final. What was sent is never taken back: it goes on only with
// text that begins with it, and all that was sent together is the text of the response. Linear in
// the length of the pieces.
import type { Delta } from "../schemas/types.ts";

export interface StreamText {
  take(delta: Pick<Delta, "attempt" | "index" | "text">): void;
  /** Text that may be sent now and counts as sent; "" if none. */
  next(): string;
  /**
   * What is left to send of the final text; null: what was sent is not its beginning, and the
   * stream must end in an error.
   */
  rest(text: string): string | null;
}

export function createStreamText(): StreamText {
  let sent = "";
  let received = "";
  let attempt = 0;
  let expected = 0;
  let isWhole = false;
  /** As far as both go, what was received of this attempt is what was sent. */
  let agrees = true;

  return {
    take(delta) {
      if (delta.index === 0) {
        received = "";
        attempt = delta.attempt;
        expected = 0;
        isWhole = agrees = true;
      }
      // A piece is missing, or of another attempt: the response will tell.
      if (!isWhole || delta.attempt !== attempt || delta.index !== expected) {
        isWhole = false;
        return;
      }
      expected++;
      if (received.length < sent.length) {
        const both = Math.min(sent.length - received.length, delta.text.length);
        agrees &&= sent.startsWith(delta.text.slice(0, both), received.length);
      }
      received += delta.text;
    },
    next() {
      if (!agrees || received.length <= sent.length) return "";
      const text = received.slice(sent.length);
      sent = received;
      return text;
    },
    rest: (text) => (text.startsWith(sent) ? text.slice(sent.length) : null),
  };
}
