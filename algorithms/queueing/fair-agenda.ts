// Fair order of work: the owner with the fewest turns goes first, none exceeds its own limit. Pure.

export interface AgendaLimits {
  /** Turns of all owners together, those already taken included. */
  all: number;
  each: number;
}

/** The candidates that get a turn, fewest turns first; `taken`: turns used so far, by owner. */
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
