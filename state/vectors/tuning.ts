// When an index is built anew, and its probes. Pure. Clusters: ceil(sqrt(N)), which minimises N/K +
// K comparisons (IC-Cache §4.1).

export interface IndexOptions {
  /** Up to so many vectors every one is compared; beyond, they are clustered. */
  exactLimit: number;
  /** Share of the truly nearest that a search should find, (0, 1). */
  recallTarget: number;
  probeShare: number;
  /** Compared searches before anything is decided by them. */
  probeSamples: number;
  /** Stored vectors that a new index is tried with, to choose its probes. 0: one probe. */
  calibrationQueries: number;
  /** Clusters that every search looks into at least. */
  leastProbes: number;
  /** Clusters that would need a larger share are trained again first. */
  probesLimit: number;
  /** Vectors that the clusters are trained on, a cluster, and rounds of k-means. */
  pointsPerList: number;
  iterations: number;
}

export const defaultIndexOptions: IndexOptions = {
  exactLimit: 4_096,
  recallTarget: 0.95,
  probeShare: 0.001,
  probeSamples: 10,
  calibrationQueries: 256,
  leastProbes: 1,
  probesLimit: 0.125,
  pointsPerList: 64,
  iterations: 10,
};

/** Clusters for so many vectors; 0: none, an exact index. */
const listsFor = (size: number, { exactLimit }: IndexOptions): number =>
  size > exactLimit ? Math.ceil(Math.sqrt(size)) : 0;

/** Clusters to build anew with; null: stay. trainedSize: vectors at the last build. */
export function rebuildFor(
  { size, lists, trainedSize }: { size: number; lists: number; trainedSize: number },
  options: IndexOptions,
): number | null {
  if (lists === 0) return size > options.exactLimit ? listsFor(size, options) : null;
  // Half the limit, so that a size around it does not build to and fro.
  if (size <= options.exactLimit / 2) return 0;
  const changed = size >= 2 * trainedSize || size <= trainedSize / 2;
  return changed ? Math.ceil(Math.sqrt(size)) : null;
}

/** For each compared search and true neighbour, how many clusters lie nearer. */
export type Ranks = readonly Uint32Array[];

/** Mean share of the truly nearest that so many probes find; 1 for no searches. */
export function recallAt(ranks: Ranks, probes: number): number {
  if (ranks.length === 0) return 1;
  return ranks.reduce((sum, one) => sum + recallOf(one, probes), 0) / ranks.length;
}

export function recallOf(ranks: Uint32Array, probes: number): number {
  let found = 0;
  for (const rank of ranks) if (rank < probes) found++;
  return ranks.length === 0 ? 1 : found / ranks.length;
}

/** Standard error of that mean, [0, 0.5]; 0 for fewer than two. */
export function recallError(ranks: Ranks, probes: number): number {
  if (ranks.length < 2) return 0;
  const mean = recallAt(ranks, probes);
  const squares = ranks.reduce((sum, one) => sum + (recallOf(one, probes) - mean) ** 2, 0);
  return Math.sqrt(squares / (ranks.length - 1) / ranks.length);
}

/** Least probes with mean recall, less so many errors, as wanted; else `lists`. */
export function probesFor(ranks: Ranks, recall: number, lists: number, errors = 0): number {
  let low = 1;
  let high = lists;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (recallAt(ranks, middle) - errors * recallError(ranks, middle) >= recall) high = middle;
    else low = middle + 1;
  }
  return high;
}

/** One standard error more than the target. */
export const chosenProbes = (ranks: Ranks, lists: number, { leastProbes, recallTarget }: IndexOptions): number =>
  Math.max(leastProbes, probesFor(ranks, recallTarget, lists, 1));

export type ProbesDecision = { kind: "keep" } | { kind: "probes"; probes: number } | { kind: "rebuild" };

/** Below the target more probes or new clusters; fewer when far fewer do. */
export function decideProbes(
  state: { ranks: Ranks; probes: number; lists: number; size: number; trainedSize: number },
  options: IndexOptions,
): ProbesDecision {
  const { ranks, probes, lists, size, trainedSize } = state;
  if (lists === 0 || ranks.length < options.probeSamples) return { kind: "keep" };
  const wanted = chosenProbes(ranks, lists, options);
  const sure = ranks.length >= 10 * options.probeSamples;
  // A few searches that happen to be hard shall not make all later ones more expensive: their mean
  // has to lie clearly under the target.
  const recall = recallAt(ranks, probes) + (sure ? 0 : 2 * recallError(ranks, probes));
  if (recall < options.recallTarget && wanted > probes) {
    // The same vectors would give the same clusters: training again helps only once a good part of
    // them has changed.
    const changed = Math.abs(size - trainedSize) > trainedSize / 10;
    if (wanted > options.probesLimit * lists && changed) return { kind: "rebuild" };
    return { kind: "probes", probes: wanted };
  }
  return sure && wanted < 0.75 * probes ? { kind: "probes", probes: wanted } : { kind: "keep" };
}
