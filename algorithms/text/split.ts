// Cuts a text into pieces that are cached and linked apart (EPIC's KVSplit; docs/linked-prefill.md,
// Documents): by meaning or by size, in linear time.
import { measureText, type TextMeasure } from "./text-measure.ts";

export type Splitter = "meaning" | "size";

/** Non-empty pieces of at most `most` estimated tokens (>= 1), in order; none for a blank text. */
export function splitText(text: string, splitter: Splitter, most: number): string[] {
  if (!(most >= 1)) throw new RangeError(`a piece has at least one token, not ${most}`);
  const task: Task = { text, most, measure: measureText(text), pieces: [] };
  if (splitter === "meaning") byMeaning(task, 0, text.length, 0);
  else bySize(task, 0, text.length);
  return task.pieces;
}

/** Pieces of at most `most` UTF-16 units: for texts that splitText is too slow for. */
export function cutText(text: string, most: number): string[] {
  const pieces: string[] = [];
  for (let from = 0; from < text.length;) {
    let piece = text.slice(from, from + most);
    if (from + most < text.length) {
      const space = piece.search(/\s\S*$/u);
      if (space >= most / 2) piece = piece.slice(0, space + 1);
      // Never between the halves of a character.
      else if (piece.length > 1 && /[\ud800-\udbff]$/.test(piece)) piece = piece.slice(0, -1);
    }
    from += piece.length;
    const trimmed = piece.trim();
    if (trimmed !== "") pieces.push(trimmed);
  }
  return pieces;
}

interface Task {
  text: string;
  most: number;
  measure: TextMeasure;
  pieces: string[];
}

type Separator = (text: string) => Iterable<RegExpExecArray>;

// What separates the parts of a text, from the coarsest; each part keeps what ends it. Patterns
// that never fail once they have begun.
const blankLines: Separator = function* (text) {
  for (const match of text.matchAll(/\n\s*/g)) if (match[0].includes("\n", 1)) yield match;
};
const lines: Separator = (text) => text.matchAll(/\n/g);
const sentences: Separator = (text) =>
  text.matchAll(/(?<=[.!?\u3002\uff01\uff1f]["')\]]?)\s+|(?<=[\u3002\uff01\uff1f])/g);
const levels = [blankLines, lines, sentences];

/** As many paragraphs as fit, else lines, sentences, words. */
function byMeaning(task: Task, from: number, to: number, level: number): void {
  if (fits(task, from, to)) return keep(task, from, to);
  const separator = levels[level];
  if (separator === undefined) return bySize(task, from, to);
  let start = from;
  let end = from;
  for (const next of endsOfParts(task.text.slice(from, to), separator)) {
    if (end > start && !fits(task, start, from + next)) {
      byMeaning(task, start, end, level + 1);
      start = end;
    }
    end = from + next;
  }
  byMeaning(task, start, end, level + 1);
}

/** Where the parts between separators end; a separator belongs to the part before it. */
function* endsOfParts(text: string, separator: Separator): Generator<number> {
  let from = 0;
  for (const { index, 0: match } of separator(text)) {
    const to = index + match.length;
    if (to > from) yield to;
    from = to;
  }
  if (from < text.length) yield text.length;
}

/** Whole words while they fit; a word longer than a piece is cut between characters. */
function bySize(task: Task, from: number, to: number): void {
  const text = task.text.slice(from, to);
  let start = from;
  let end = from;
  for (const { index, 0: word } of text.matchAll(/\S+/g)) {
    const wordEnd = from + index + word.length;
    if (!fits(task, start, wordEnd)) {
      keep(task, start, end);
      start = end = from + index;
      for (const character of word) {
        if (!fits(task, start, end + character.length)) {
          keep(task, start, end);
          start = end;
        }
        end += character.length;
      }
    }
    end = wordEnd;
  }
  keep(task, start, end);
}

const fits = ({ measure, most }: Task, from: number, to: number): boolean => measure.tokens(from, to) <= most;

function keep({ text, measure, pieces }: Task, from: number, to: number): void {
  const trimmed = measure.trim(from, to);
  if (trimmed.from < trimmed.to) pieces.push(text.slice(trimmed.from, trimmed.to));
}
