// Cuts a text into pieces that can be cached and linked each on its own (EPIC's KVSplit; spec 50): by meaning, or by size alone.
import { estimateTokens } from "./tokens.ts";

export type Splitter = "meaning" | "size";

/** Pieces of at most `most` estimated tokens (>= 1), in order; none is empty or begins or ends in white space, and none for a blank text. */
export function splitText(text: string, splitter: Splitter, most: number): string[] {
  if (!(most >= 1)) throw new RangeError(`a piece has at least one token, not ${most}`);
  return splitter === "meaning" ? byMeaning(text, most, levels) : bySize(text, most);
}

// What separates the parts of a text, from the coarsest; each part keeps what ends it.
const levels = [/\n[^\S\n]*(?:\n[^\S\n]*)+/, /\n/, /(?<=[.!?\u3002\uff01\uff1f]["')\]]?)\s+|(?<=[\u3002\uff01\uff1f])/];

/** As many whole paragraphs as fit; of one that does not fit lines, of those sentences, and of those words. */
function byMeaning(text: string, most: number, [separator, ...finer]: readonly RegExp[]): string[] {
  if (estimateTokens(text.trim()) <= most) return text.trim() === "" ? [] : [text.trim()];
  if (separator === undefined) return bySize(text, most);
  const pieces: string[] = [];
  let start = 0;
  let end = 0;
  const add = (from: number, to: number): void => {
    pieces.push(...byMeaning(text.slice(from, to), most, finer));
  };
  for (const [from, to] of parts(text, separator)) {
    if (end > start && estimateTokens(text.slice(start, to).trim()) > most) {
      add(start, end);
      start = from;
    }
    end = to;
  }
  add(start, end);
  return pieces;
}

/** Where the parts between separators begin and end; a separator belongs to the part before it. */
function parts(text: string, separator: RegExp): [from: number, to: number][] {
  const found: [number, number][] = [];
  let from = 0;
  for (const { index, 0: match } of text.matchAll(new RegExp(separator, "g"))) {
    const to = index + match.length;
    if (to > from) found.push([from, to]);
    from = to;
  }
  if (from < text.length) found.push([from, text.length]);
  return found;
}

/** Whole words while they fit; a word longer than a piece is cut between characters. */
function bySize(text: string, most: number): string[] {
  const pieces: string[] = [];
  let piece = "";
  const finish = (): void => {
    if (piece.trim() !== "") pieces.push(piece.trim());
    piece = "";
  };
  for (const word of text.match(/\s*\S+/g) ?? []) {
    if (estimateTokens((piece + word).trim()) <= most) {
      piece += word;
      continue;
    }
    finish();
    for (const character of word.trim()) {
      if (estimateTokens(piece + character) > most) finish();
      piece += character;
    }
  }
  finish();
  return pieces;
}
