// Estimated tokens of a text without a tokenizer: prose has about 4.2 characters a token, code 3.2;
// 3.5 errs towards too many. Beyond ASCII a character often is a token.

const asciiCharactersPerToken = 3.5;
/** What a chat template puts around one turn (role markers, line ends). */
export const tokensPerTurn = 5;

/** Estimated tokens of a text, a whole number >= 0; 0 only for the empty text. */
export function estimateTokens(text: string): number {
  let wide = 0;
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 127) wide++;
  return tokensOf(text.length, wide);
}

/** The same for a text with this many characters (UTF-16 units), `wide` of them beyond ASCII. */
export const tokensOf = (characters: number, wide: number): number =>
  Math.ceil((characters - wide) / asciiCharactersPerToken) + wide;

/**
 * Tokens of a text at most, for what is paid by them: three letters or blanks a token, and each
 * other character, or byte of one beyond ASCII, its own. Random letters alone may have more.
 */
export function tokensAtMost(text: string): number {
  let plain = 0;
  let others = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit <= 32 || (unit >= 65 && unit <= 90) || (unit >= 97 && unit <= 122)) plain++;
    // Each half of a pair is two of its four bytes.
    else others += unit < 128 ? 1 : unit < 2_048 || (unit >= 55_296 && unit < 57_344) ? 2 : 3;
  }
  return Math.ceil(plain / 3) + others;
}

/** Estimated tokens that an example adds to a prompt: a user turn and an assistant turn. */
export function exampleTokens(request: string, response: string): number {
  return estimateTokens(request) + estimateTokens(response) + 2 * tokensPerTurn;
}
