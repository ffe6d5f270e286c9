// What of an answer may be sent to a reader when: pieces of its text and of its calls of tools come
// best effort and may begin again with another attempt, the response is final. What was sent is
// never taken back: it goes on only with what begins with it, and all that was sent together is the
// text and the calls of the response. Linear in the length of the pieces.
import type { BlockPiece, CallPiece, Delta, Response, ThoughtPiece } from "../schemas/types.ts";
import { extraOf, nativeAnswer, thoughtsOf } from "./api/response.ts";
import { createPrefixGuard } from "./prefix-guard.ts";
import { createStreamCalls } from "./stream-calls.ts";
import type { NativePiece } from "../algorithms/text/message-blocks.ts";
import { createStreamHeads, type StreamHeads } from "./stream-heads.ts";

/** Behind what was sent. */
export interface Parts {
  thoughts: ThoughtPiece | null;
  text: string;
  /** As chunks have them. */
  calls: readonly object[];
  blocks: readonly BlockPiece[];
}

type Taken = Pick<Delta, "attempt" | "index" | "text" | "calls" | "blocks"> & Partial<Pick<Delta, "thoughts">>;

/** native: blocks are sent in place of text and calls, where an answer has them. */
export function createStreamParts(native = false) {
  const thoughts = createStreamThoughts();
  const text = createPrefixGuard();
  const calls = createStreamCalls();
  const blocks = createStreamBlocks();
  let attempt = 0;
  let expected = 0;
  let isComplete = false;

  return {
    take(delta: Taken): void {
      if (delta.index === 0) {
        thoughts.restart();
        text.restart();
        calls.restart();
        blocks.restart();
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
      for (const piece of native ? delta.blocks : []) blocks.add(piece);
      if (native && delta.blocks.length > 0) return;
      if (delta.thoughts) thoughts.add(delta.thoughts);
      text.add(delta.text);
      for (const piece of delta.calls) calls.add(piece);
    },
    /** What may be sent now and counts as sent. */
    next: (): Omit<Parts, "calls"> & { calls: CallPiece[] } =>
      calls.agree() && text.agrees() && blocks.agree()
        ? { thoughts: thoughts.next(), text: text.next(), calls: calls.next(), blocks: blocks.next() }
        : { thoughts: null, text: "", calls: [], blocks: [] },
    /** What is left to send of the final answer; null: what was sent is not its beginning. */
    rest(response: Pick<Response, "text" | "passthrough">): Parts | null {
      const final = native ? nativeAnswer(response) : null;
      const ofText = text.rest(final === null ? response.text : "");
      const ofCalls = calls.rest(final === null ? extraOf(response).message["tool_calls"] : []);
      const ofBlocks = blocks.rest(final?.pieces ?? []);
      return ofText === null || ofCalls === null || ofBlocks === null
        ? null
        : { thoughts: thoughts.rest(response), text: ofText, calls: ofCalls, blocks: ofBlocks };
    },
  };
}

/** Thoughts are no part of the answer: where another attempt thinks otherwise, no more are sent. */
function createStreamThoughts() {
  const guard = createPrefixGuard();
  let member: string | null = null;
  const piece = (text: string): ThoughtPiece | null => (member === null || text === "" ? null : { member, text });
  return {
    restart: guard.restart,
    add(thoughts: ThoughtPiece): void {
      member ??= thoughts.member;
      if (thoughts.member === member) guard.add(thoughts.text);
    },
    next: () => piece(guard.next()),
    rest(response: Pick<Response, "passthrough">): ThoughtPiece | null {
      if (member === null) return thoughtsOf(response);
      const whole = extraOf(response).message[member];
      return piece(typeof whole === "string" ? (guard.rest(whole) ?? "") : "");
    },
  };
}

/** Heads are JSON. */
interface StreamBlocks extends Pick<StreamHeads<string>, "restart" | "agree" | "next"> {
  add(piece: BlockPiece): void;
  /** Unsent rest of the final blocks; null: they do not begin with what was sent. */
  rest(final: readonly NativePiece[]): BlockPiece[] | null;
}

function createStreamBlocks(): StreamBlocks {
  const heads = createStreamHeads<string>((one, other) => one === other);
  return {
    ...heads,
    add: ({ index, head, text }) => heads.add(index, head, text),
    rest(final) {
      if (heads.isBeyond(final.length)) return null;
      const pieces: BlockPiece[] = [];
      for (const [index, { head, text: whole }] of final.entries()) {
        const sent = heads.sent(index);
        const known = JSON.stringify(head);
        const text = sent === null ? whole : sent.head === known ? sent.rest(whole) : null;
        if (text === null) return null;
        if (sent === null || text !== "") pieces.push({ index, head: sent === null ? known : null, text });
      }
      return pieces;
    },
  };
}
