// A prompt to tokens, cut where a cacheable chunk ends: system prompt, document piece, example.
// Where the model's template mixes messages nothing is cut.
import type { ChatTokens, createChat } from "../../connections/llama/chat.ts";
import type { Range } from "../../connections/llama/port.ts";
import type { Piece } from "../../schemas/types.ts";
import { messageParts } from "../messages.ts";

export interface PromptChunk extends Range {
  kind: "system" | "document" | "example";
  id: string | null;
  /** The text of a document's piece; absent for other chunks. */
  text?: string;
  /** Its text is the arm's own, from the configuration, and nothing stands before it. */
  configured: boolean;
}

export interface ChunkedPrompt {
  tokens: Int32Array;
  /** From position 0 on, each behind the other; what follows them is the conversation. */
  chunks: PromptChunk[];
  /** Ends of turns that the next request may begin with: none with examples. */
  turnEnds: number[];
}

/** `system`: the arm's own. Throws LlamaError model_unsupported when the template refuses. */
export function chunkPrompt(
  pieces: readonly Piece[],
  chat: ReturnType<typeof createChat>,
  system: string | null,
): ChunkedPrompt {
  const systems = pieces.filter(({ kind }) => kind === "system");
  const isConfigured = systems.length === 1 && systems[0]?.text === system;
  const messages = messageParts(pieces);
  const {
    tokens,
    texts,
    messages: ranges,
  }: ChatTokens = chat(
    messages.map(({ role, parts }) => ({
      role: role === "tool" ? "user" : role,
      content: parts.map(({ text }) => text),
    })),
  );
  const turnEnds = pieces.some(({ kind }) => kind === "example")
    ? []
    : messages.flatMap(({ parts }, index) =>
        parts.some(({ piece }) => piece.kind === "turn") ? (ranges?.[index]?.end ?? []) : [],
      );
  const chunks: PromptChunk[] = [];
  let previous: Piece | undefined;
  for (const [index, { parts }] of messages.entries()) {
    for (const [at, { piece }] of parts.entries()) {
      const range = texts?.[index]?.[at];
      // Chunks must stand at the beginning: behind the question, a chunk's purpose is unknown.
      if (range === undefined || piece.kind === "turn" || piece.kind === "guidance")
        return { tokens, chunks, turnEnds };
      const { kind, id, text } = piece;
      const open = chunks.at(-1);
      // The two turns of an example are one chunk, and so are all system texts; each piece of a
      // document is its own.
      if (open !== undefined && previous?.kind === kind && kind !== "document" && previous.id === id)
        open.end = range.end;
      else
        chunks.push({
          ...{ kind, id, configured: chunks.length === 0 && kind === "system" && isConfigured },
          ...(kind === "document" && { text }),
          ...range,
        });
      previous = piece;
    }
  }
  return { tokens, chunks, turnEnds };
}
