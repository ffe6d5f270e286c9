// Texts in UTF-16 for readers of UTF-8: half a surrogate pair becomes U+FFFD, as in
// String.toWellFormed(); pieces of one text may be cut within a pair.

/** A piece in, what may go out now; `ends`: nothing follows. */
export type Pieces = (piece: string, ends?: boolean) => string;

/** Keeps back the first half of a pair until the other half comes, or the text ends. */
export function wellFormedPieces(): Pieces {
  let half = "";
  return (piece, ends = false) => {
    const text = half + piece;
    half = !ends && isFirstHalf(text.charCodeAt(text.length - 1)) ? text.slice(-1) : "";
    return (half === "" ? text : text.slice(0, -1)).toWellFormed();
  };
}

const isFirstHalf = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

/** JSON.stringify() writes half a pair as an escape that strict readers refuse. Keys stay. */
export function wellFormedJson(value: unknown): string {
  const text = JSON.stringify(value);
  return /\\ud[89a-f]/.test(text) ? JSON.stringify(value, wellFormedValue) : text;
}

const wellFormedValue = (_name: string, value: unknown): unknown =>
  typeof value === "string" ? value.toWellFormed() : value;
