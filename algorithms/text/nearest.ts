// The word that was probably meant: of known words the one with the fewest typing errors.
import { closest, distance } from "fastest-levenshtein";

/** Absent where each known word differs by more than two letters, or two fifths of those given. */
export function nearest(given: string, known: readonly string[]): string | undefined {
  if (known.length === 0) return undefined;
  const words = new Map(known.map((word) => [word.toLowerCase(), word]));
  const typed = given.toLowerCase();
  const found = closest(typed, [...words.keys()]);
  return distance(typed, found) <= Math.min(2, (2 / 5) * given.length) ? words.get(found) : undefined;
}
