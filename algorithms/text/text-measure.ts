// estimateTokens for any range of a text in constant time, from counts made once from the
// beginning. Callers that try many ranges (split.ts) take time linear in the text, not quadratic.
import { tokensOf } from "./tokens.ts";

export type TextMeasure = ReturnType<typeof measureText>;

export function measureText(text: string) {
  const length = text.length;
  /** Characters beyond ASCII before each position. */
  const wide = new Uint32Array(length + 1);
  /** Next position that is no white space, and the last such one before, plus one. */
  const nextInk = new Uint32Array(length + 1);
  const lastInk = new Uint32Array(length + 1);
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    wide[i + 1] = wide[i]! + (code > 127 ? 1 : 0);
    lastInk[i + 1] = isSpace(code) ? lastInk[i]! : i + 1;
  }
  nextInk[length] = length;
  for (let i = length - 1; i >= 0; i--) nextInk[i] = isSpace(text.charCodeAt(i)) ? nextInk[i + 1]! : i;

  /** The stretch without outer white space; from = to: blank. Half-open, UTF-16 units. */
  const trim = (from: number, to: number): { from: number; to: number } => {
    const start = Math.min(nextInk[from]!, to);
    return { from: start, to: Math.max(start, lastInk[to]!) };
  };
  return {
    trim,
    tokens(from: number, to: number): number {
      const trimmed = trim(from, to);
      return tokensOf(trimmed.to - trimmed.from, wide[trimmed.to]! - wide[trimmed.from]!);
    },
  };
}

/** As String.prototype.trim and \s have it. */
const isSpace = (code: number): boolean =>
  (code >= 9 && code <= 13) ||
  code === 0x20 ||
  (code >= 0xa0 &&
    (code === 0xa0 ||
      code === 0x1680 ||
      (code >= 0x2000 && code <= 0x200a) ||
      code === 0x2028 ||
      code === 0x2029 ||
      code === 0x202f ||
      code === 0x205f ||
      code === 0x3000 ||
      code === 0xfeff));
