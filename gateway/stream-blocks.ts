// Blocks of an answer in Anthropic's format in a stream: what of them may be sent when
// (stream-parts.ts has the rule). The head of a block is sent once, with its first piece.
import type { NativePiece } from "../algorithms/text/message-blocks.ts";
import type { BlockPiece } from "../schemas/types.ts";
import { createPrefixGuard, type PrefixGuard } from "./prefix-guard.ts";

interface Block {
  /** JSON; received: of this attempt. */
  received: string | null;
  sent: string | null;
  text: PrefixGuard;
}

export interface StreamBlocks {
  restart(): void;
  add(piece: BlockPiece): void;
  /** False: a repeated attempt differs from what was sent. */
  agree(): boolean;
  next(): BlockPiece[];
  /** Unsent rest of the final blocks; null: they do not begin with what was sent. */
  rest(final: readonly NativePiece[]): BlockPiece[] | null;
}

export function createStreamBlocks(): StreamBlocks {
  const blocks: Block[] = [];
  /** Blocks with unsent pieces: work is linear in the length of the pieces. */
  const touched = new Set<number>();
  let agrees = true;

  return {
    restart() {
      agrees = true;
      touched.clear();
      for (const block of blocks) {
        block.received = null;
        block.text.restart();
      }
    },
    add({ index, head, text }) {
      if (index === blocks.length) blocks.push({ received: null, sent: null, text: createPrefixGuard() });
      const block = blocks[index];
      if (block === undefined) {
        agrees = false;
        return;
      }
      block.received ??= head;
      agrees &&= block.received !== null && (block.sent === null || block.sent === block.received);
      block.text.add(text);
      agrees &&= block.text.agrees();
      touched.add(index);
    },
    agree: () => agrees,
    next() {
      if (!agrees) return [];
      const pieces: BlockPiece[] = [];
      for (const index of touched) {
        const block = blocks[index];
        if (block === undefined) continue;
        const text = block.text.next();
        if (block.sent === null || text !== "")
          pieces.push({ index, head: block.sent === null ? block.received : null, text });
        block.sent ??= block.received;
      }
      touched.clear();
      return pieces;
    },
    rest(final) {
      if (blocks.some(({ sent }, index) => sent !== null && index >= final.length)) return null;
      const pieces: BlockPiece[] = [];
      for (const [index, { head, text: whole }] of final.entries()) {
        const sent = blocks[index]?.sent ?? null;
        const known = JSON.stringify(head);
        const text = sent === null ? whole : sent === known ? blocks[index]!.text.rest(whole) : null;
        if (text === null) return null;
        if (sent === null || text !== "") pieces.push({ index, head: sent === null ? known : null, text });
      }
      return pieces;
    },
  };
}
