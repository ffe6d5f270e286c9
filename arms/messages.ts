// Turns the pieces of a prompt into messages, late: chunks are linked one by one.
import type { Piece } from "../schemas/types.ts";

export interface ChatMessage {
  role: Piece["role"];
  content: string;
}

export interface MessageParts {
  role: Piece["role"];
  /** Put together they are the content; what stands between two texts belongs to the second. */
  parts: { piece: Piece; text: string }[];
}

/**
 * One message a piece; an example in turns is two pieces. Neighbours of a role are joined where
 * they are system texts, documents or guidance: templates want turns to alternate.
 */
export function messageParts(pieces: readonly Piece[]): MessageParts[] {
  const messages: MessageParts[] = [];
  let previous: Piece | undefined;
  for (const piece of pieces) {
    const last = messages.at(-1);
    if (last !== undefined && previous !== undefined && joins(previous, piece))
      last.parts.push({ piece, text: `\n\n${piece.text}` });
    else messages.push({ role: piece.role, parts: [{ piece, text: piece.text }] });
    previous = piece;
  }
  return messages;
}

export const chatMessages = (pieces: readonly Piece[]): ChatMessage[] =>
  messageParts(pieces).map(({ role, parts }) => ({ role, content: parts.map(({ text }) => text).join("") }));

/** The text of the last user turn, what a log is looked up by; undefined when there is none. */
export function lastUserTurn(pieces: readonly Piece[]): string | undefined {
  return pieces.findLast((piece) => piece.kind === "turn" && piece.role === "user")?.text;
}

function joins(previous: Piece, next: Piece): boolean {
  if (previous.role !== next.role) return false;
  if (next.role === "system" || (previous.kind === "example" && next.kind === "example")) return true;
  return [previous, next].some(({ kind }) => kind === "document" || kind === "guidance");
}
