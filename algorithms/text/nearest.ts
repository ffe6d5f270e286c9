// The word that was probably meant: of known words the one with the fewest typing errors.

/** Absent where each known word differs by more than two letters, or a third of the given ones. */
export function nearest(given: string, known: readonly string[]): string | undefined {
  const most = Math.min(2, given.length / 3);
  const errors = known.map((word) => typingErrors(given.toLowerCase(), word.toLowerCase()));
  const least = Math.min(...errors);
  return least <= most ? known[errors.indexOf(least)] : undefined;
}

/** Levenshtein distance; letters that changed places count as one error. */
function typingErrors(a: string, b: string): number {
  let [before, last] = [[] as number[], Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row[j] = Math.min(
        last[j]! + 1,
        row[j - 1]! + 1,
        last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1),
        isSwap ? before[j - 2]! + 1 : Infinity,
      );
    }
    [before, last] = [last, row];
  }
  return last[b.length]!;
}
