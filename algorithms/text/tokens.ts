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

/** Estimated tokens that an example adds to a prompt: a user turn and an assistant turn. */
export function exampleTokens(request: string, response: string): number {
  return estimateTokens(request) + estimateTokens(response) + 2 * tokensPerTurn;
}
