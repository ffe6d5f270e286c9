// Numbered parts of an answer in a stream, each a head and a text in pieces: what of them may be
// sent when (stream-parts.ts has the rule). A head is sent once, with its part's first piece.
import { createPrefixGuard, type PrefixGuard } from "./prefix-guard.ts";

interface Part<Head> {
  /** As this attempt has it; null: no piece of it came yet. */
  received: Head | null;
  sent: Head | null;
  text: PrefixGuard;
}

export interface HeadedPiece<Head> {
  index: number;
  /** null: it was sent before. */
  head: Head | null;
  text: string;
}

export type StreamHeads<Head> = ReturnType<typeof createStreamHeads<Head>>;

export function createStreamHeads<Head>(isSame: (one: Head, other: Head) => boolean) {
  /** In their order, from index 0. */
  const parts: Part<Head>[] = [];
  /** Those with something new, so that a piece costs its own length. */
  const touched = new Set<number>();
  let agrees = true;

  return {
    restart(): void {
      agrees = true;
      touched.clear();
      for (const part of parts) {
        part.received = null;
        part.text.restart();
      }
    },
    /** The head of a part's first piece counts. null: it has none. */
    add(index: number, head: Head | null, text: string): void {
      if (index === parts.length) parts.push({ received: null, sent: null, text: createPrefixGuard() });
      const part = parts[index];
      if (part === undefined) {
        agrees = false;
        return;
      }
      part.received ??= head;
      agrees &&= part.received !== null && (part.sent === null || isSame(part.sent, part.received));
      part.text.add(text);
      agrees &&= part.text.agrees();
      touched.add(index);
    },
    /** False: a repeated attempt differs from what was sent. */
    agree: (): boolean => agrees,
    next(): HeadedPiece<Head>[] {
      if (!agrees) return [];
      const pieces: HeadedPiece<Head>[] = [];
      for (const index of touched) {
        const part = parts[index];
        if (part === undefined) continue;
        const text = part.text.next();
        if (part.sent === null || text !== "")
          pieces.push({ index, head: part.sent === null ? part.received : null, text });
        part.sent ??= part.received;
      }
      touched.clear();
      return pieces;
    },
    /** What was sent of a part: its head, and what is left of its final text; null: not sent. */
    sent(index: number): { head: Head; rest: PrefixGuard["rest"] } | null {
      const part = parts[index];
      return part === undefined || part.sent === null ? null : { head: part.sent, rest: part.text.rest };
    },
    /** Whether a part was sent that so many final ones lack. */
    isBeyond: (count: number): boolean => parts.some(({ sent }, index) => sent !== null && index >= count),
  };
}
