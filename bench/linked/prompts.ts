// A request of this benchmark as tokens: its chunks, and what stood before each of them where it was first seen.
import { chunkPrompt } from "../../arms/linked-prompt.ts";
import type { createChat } from "../../connections/llama/chat.ts";
import type { Range } from "../../connections/llama/port.ts";
import type { Piece } from "../../schemas/types.ts";

export interface Item {
  /** The whole prompt; it ends where the answer begins. */
  tokens: Int32Array;
  /** From position 0 on, each behind the other; the system prompt first. */
  chunks: Range[];
  /** Of each chunk, the tokens of the chunk that stands between the system prompt and it in its first context; null for the system prompt. */
  neighbours: (Int32Array | null)[];
  /** Right answers; none where the quality of answers says nothing. */
  references: string[];
}

export type Chat = ReturnType<typeof createChat>;

export interface Material {
  system: string;
  kind: "example" | "document";
  /** Pieces of each chunk behind the system prompt, as they stand in the prompt. */
  chunks: readonly (readonly Piece[])[];
  /** For each of them another chunk of the same kind. */
  neighbours: readonly (readonly Piece[])[];
  question: string;
  references: string[];
}

export function itemOf({ system, chunks, neighbours, question, references }: Material, chat: Chat): Item {
  const opening: Piece = { kind: "system", id: null, role: "system", text: system };
  const turn: Piece = { kind: "turn", id: null, role: "user", text: question };
  const prompt = chunkPrompt([opening, ...chunks.flat(), turn], chat);
  if (prompt.chunks.length !== chunks.length + 1)
    throw new Error(`the prompt has ${prompt.chunks.length} chunks, not ${chunks.length + 1}: equal ids side by side?`);
  const tokensOf = (neighbour: readonly Piece[], chunk: readonly Piece[]): Int32Array => {
    // A chunk stands behind it, so that it has the tokens of one in the middle of a prompt.
    const { tokens, chunks: found } = chunkPrompt([opening, ...neighbour, ...chunk, turn], chat);
    return tokens.slice(found[1]?.begin, found[1]?.end);
  };
  return {
    tokens: prompt.tokens,
    chunks: prompt.chunks.map(({ begin, end }) => ({ begin, end })),
    neighbours: [null, ...chunks.map((chunk, i) => tokensOf(neighbours[i] ?? [], chunk))],
    references,
  };
}

export const examplePieces = (id: string, { request, response }: { request: string; response: string }): Piece[] => [
  { kind: "example", id, role: "user", text: request },
  { kind: "example", id, role: "assistant", text: response },
];

export const documentPiece = (id: string, text: string): Piece[] => [{ kind: "document", id, role: "system", text }];
