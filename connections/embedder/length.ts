// How long a text will be for the model, without its tokenizer: enough to put texts of like length
// into one batch.
import { maxCharacters } from "./methods.ts";

const pieces = /[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu;

/**
 * Estimated tokens: words, signs, a little for characters. Batches are padded by 14 % by it, by 22
 * to 31 % by characters alone.
 */
export function guessLength(text: string): number {
  const read = text.length > maxCharacters ? text.slice(0, maxCharacters) : text;
  return (read.match(pieces)?.length ?? 0) + read.length / 20;
}
