// Whether a JSON object that comes in pieces is complete: by its brackets outside of strings. What
// is between them may be no JSON. Linear.

export type JsonEnd = ReturnType<typeof createJsonEnd>;

const [quote, backslash, openBrace, closeBrace, openBracket, closeBracket] = [34, 92, 123, 125, 91, 93];

export function createJsonEnd() {
  let depth = 0;
  let [hasBegun, inString, isEscaped] = [false, false, false];
  return {
    add(piece: string): void {
      for (let at = 0; at < piece.length; at++) {
        const unit = piece.charCodeAt(at);
        if (isEscaped) isEscaped = false;
        else if (inString) {
          if (unit === backslash) isEscaped = true;
          else if (unit === quote) inString = false;
        } else if (unit === quote) inString = true;
        else if (unit === openBrace || unit === openBracket) {
          depth++;
          hasBegun = true;
        } else if (unit === closeBrace || unit === closeBracket) depth--;
      }
    },
    isComplete: (): boolean => hasBegun && depth === 0 && !inString,
  };
}
