// What is done next where every owner has the same right to a common number of turns: owners take
// turns, whoever had the fewest so far goes first, and nobody gets more than a number of his own.
// Pure; linear but for the sorting.

export interface AgendaLimits {
  /** Turns of all owners together, those already taken included. */
  all: number;
  /** Turns of one owner, those already taken included. */
  each: number;
}

/** Of the candidates, in their order within an owner, those whose turn it is; `taken` by owner. */
export function fairAgenda<T>(
  candidates: readonly T[],
  ownerOf: (candidate: T) => string,
  taken: ReadonlyMap<string, number>,
  { all, each }: AgendaLimits,
): T[] {
  const turns = new Map(taken);
  const left = all - [...taken.values()].reduce((sum, count) => sum + count, 0);
  return candidates
    .map((candidate) => {
      const owner = ownerOf(candidate);
      const turn = (turns.get(owner) ?? 0) + 1;
      turns.set(owner, turn);
      return { candidate, turn };
    })
    .filter(({ turn }) => turn <= each)
    .sort((one, other) => one.turn - other.turn)
    .slice(0, Math.max(0, left))
    .map(({ candidate }) => candidate);
}
