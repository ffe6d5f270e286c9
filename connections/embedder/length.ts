// How long a text will be for the model, without its tokenizer: enough to put texts of like length
// into one batch.
import { maxCharacters } from "./methods.ts";

const pieces = /[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu;

/**
 * Estimated tokens: words and other signs, plus a little for characters, because long words are
 * several tokens. Batches of eight by characters alone are padded by 22 to 31 % (nl2bash, QQP), by
 * this estimate by 14 or 15 %.
 */
export function guessLength(text: string): number {
  const read = text.length > maxCharacters ? text.slice(0, maxCharacters) : text;
  return (read.match(pieces)?.length ?? 0) + read.length / 20;
}
