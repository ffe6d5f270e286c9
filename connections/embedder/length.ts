// How long a text will be for the model, without its tokenizer: enough to put texts of like length
// into one batch.
import { maxCharacters } from "./methods.ts";

const pieces = /[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu;

/**
 * About as many tokens as words and other signs. Long words are several tokens, so characters count
 * a little, too: batches of eight made by characters alone are padded by 22 to 31 % (nl2bash, QQP),
 * by this by 14 or 15 %.
 */
export function guessLength(text: string): number {
  const read = text.length > maxCharacters ? text.slice(0, maxCharacters) : text;
  return (read.match(pieces)?.length ?? 0) + read.length / 20;
}
