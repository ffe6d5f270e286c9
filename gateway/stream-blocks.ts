// Blocks of an answer in Anthropic's format in a stream.
import type { NativePiece } from "../algorithms/text/message-blocks.ts";
import type { BlockPiece } from "../schemas/types.ts";
import { createStreamHeads, type StreamHeads } from "./stream-heads.ts";

/** Heads are JSON. */
export interface StreamBlocks extends Pick<StreamHeads<string>, "restart" | "agree" | "next"> {
  add(piece: BlockPiece): void;
  /** Unsent rest of the final blocks; null: they do not begin with what was sent. */
  rest(final: readonly NativePiece[]): BlockPiece[] | null;
}

export function createStreamBlocks(): StreamBlocks {
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
