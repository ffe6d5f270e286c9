// A request of this benchmark as tokens: its chunks, and the earlier prompt that each of them was
// first seen in.
import { chunkPrompt } from "../../arms/linked/prompt.ts";
import type { createChat } from "../../connections/llama/chat.ts";
import type { Range } from "../../connections/llama/port.ts";
import type { Piece } from "../../schemas/types.ts";

/** An earlier prompt, not the one that is measured, and where a chunk stood in it. */
export interface Earlier {
  /** Tokens of its chunks, the system prompt first. */
  chunks: Int32Array[];
  /** >= 1. */
  at: number;
}

export interface Item {
  /** The whole prompt; it ends where the answer begins. */
  tokens: Int32Array;
  /** From position 0 on, each behind the other; the system prompt first. */
  chunks: Range[];
  /** Where each chunk was seen first; null for the system prompt. */
  earlier: (Earlier | null)[];
  /** Right answers; none where the quality of answers says nothing. */
  references: string[];
}

export type Chat = ReturnType<typeof createChat>;

export interface Material {
  system: string;
  kind: "example" | "document";
  /** Pieces of each chunk behind the system prompt, as they stand in the prompt. */
  chunks: readonly (readonly Piece[])[];
  /**
   * For each of them the prompt that it was first seen in: chunks behind the system prompt, and
   * which of them it is.
   */
  earlier: readonly { chunks: readonly (readonly Piece[])[]; at: number }[];
  question: string;
  references: string[];
}

export function itemOf({ system, chunks, earlier, question, references }: Material, chat: Chat): Item {
  const opening: Piece = { kind: "system", id: null, role: "system", text: system };
  const turn: Piece = { kind: "turn", id: null, role: "user", text: question };
  const chunked = (shown: readonly (readonly Piece[])[]) => {
    const prompt = chunkPrompt([opening, ...shown.flat(), turn], chat, system);
    if (prompt.chunks.length !== shown.length + 1)
      throw new Error(
        `the prompt has ${prompt.chunks.length} chunks, not ${shown.length + 1}: equal ids side by side?`,
      );
    return prompt;
  };
  const prompt = chunked(chunks);
  return {
    tokens: prompt.tokens,
    chunks: prompt.chunks.map(({ begin, end }) => ({ begin, end })),
    earlier: [
      null,
      ...earlier.map(({ chunks: shown, at }) => {
        const { tokens, chunks: found } = chunked(shown);
        return { chunks: found.map(({ begin, end }) => tokens.slice(begin, end)), at: at + 1 };
      }),
    ],
    references,
  };
}

export const examplePieces = (id: string, { request, response }: { request: string; response: string }): Piece[] => [
  { kind: "example", id, role: "user", text: request },
  { kind: "example", id, role: "assistant", text: response },
];

export const documentPiece = (id: string, text: string): Piece[] => [{ kind: "document", id, role: "system", text }];
