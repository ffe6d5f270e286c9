// What the helpfulness proxy looks at (spec 10): one row for each (request, candidate, arm). Similarity alone correlates weakly with
// helpfulness (IC-Cache Fig. 7), so the texts' sizes, the example's record and its agreement with the other candidates stand beside it.
// Pure: the same function makes the rows that are served and those that are trained on.

/** Version of the layout below; a proxy of another version is refused. */
export const HELPFULNESS_FEATURE_VERSION = 1;

export interface RequestFacts {
  /** The last user turn. */
  text: string;
  /** Unit length. */
  vector: Float32Array;
}

export interface CandidateFacts {
  request: string;
  response: string;
  /** Unit length. */
  vector: Float32Array;
  /** Cosine with the request, [-1, 1]. */
  similarity: number;
  /** Rewarded quality of the answer when it was admitted, [0, 1]. */
  quality: number;
  /** Normalised cost of the model that wrote it, [0, 1]; null when unknown. */
  sourceCost: number | null;
  /** Times shown with a rewarded outcome, and the mean outcome [0, 1]; null before the first. */
  uses: number;
  outcome: number | null;
}

export interface ArmFacts {
  /** Normalised cost C_i, [0, 1]. */
  cost: number;
}
