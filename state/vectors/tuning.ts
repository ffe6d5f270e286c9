// When an index is built anew and how many clusters a search looks into. Pure: what is measured
// goes in, a decision comes out. Clusters: ceil(sqrt(N)), which minimises the N/K + K comparisons
// of a search (IC-Cache §4.1).

export interface IndexOptions {
  /** Up to so many vectors every one is compared; beyond, they are clustered. */
  exactLimit: number;
  /** Share of the truly nearest that a search should find, (0, 1). */
  recallTarget: number;
  /** Share of searches that are compared with an exact one. */
  probeShare: number;
  /** Compared searches before anything is decided by them. */
  probeSamples: number;
  /**
   * Stored vectors that a new index is tried with, to choose its first number of probes: the more,
   * the smaller the margin. 0: it starts with one probe.
   */
  calibrationQueries: number;
  /** Clusters that every search looks into at least. */
  leastProbes: number;
  /**
   * Share of the clusters beyond which a search should not go: clusters that need more are trained
   * again first.
   */
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

/**
 * Clusters that the index should be built anew with; null: it may stay as it is. trainedSize:
 * vectors when it was built.
 */
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

/**
 * Ranks of each compared search: for each of the truly nearest, how many clusters lie nearer than
 * its own.
 */
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

/**
 * Standard error of that mean, [0, 0.5]: how far it may be from the recall of all searches. 0 for
 * fewer than two.
 */
export function recallError(ranks: Ranks, probes: number): number {
  if (ranks.length < 2) return 0;
  const mean = recallAt(ranks, probes);
  const squares = ranks.reduce((sum, one) => sum + (recallOf(one, probes) - mean) ** 2, 0);
  return Math.sqrt(squares / (ranks.length - 1) / ranks.length);
}

/**
 * So many probes that the mean recall, less so many standard errors, reaches what is wanted, and
 * not with one less; `lists` when fewer don't.
 */
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

/**
 * Chosen for a standard error more than the target: what is just above it on these searches is as
 * often under it on others.
 */
export const chosenProbes = (ranks: Ranks, lists: number, { leastProbes, recallTarget }: IndexOptions): number =>
  Math.max(leastProbes, probesFor(ranks, recallTarget, lists, 1));

export type ProbesDecision = { kind: "keep" } | { kind: "probes"; probes: number } | { kind: "rebuild" };

/**
 * What compared searches say: under the target more probes, clusters trained again when that takes
 * too many; fewer when far fewer do.
 */
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
