// How helpful every candidate is predicted to be for every arm: one call of the model for all of
// them. Without a model, or when it fails, similarity stands in: relevance is what is known then.
import type {
  ArmFacts,
  CandidateFacts,
  HelpfulnessFeatures,
  RequestFacts,
} from "../../algorithms/selection/helpfulness-features.ts";
import type { HelpfulnessModel } from "../../connections/helpfulness/port.ts";
import { inTime } from "../../connections/in-time.ts";

export interface Ratings {
  /** Version of the model; 0: similarity stands in. */
  version: number;
  /** [0, 1]; of arm a and candidate i at a * candidates + i. */
  helpfulness: Float32Array;
  /** The row of arm a and candidate i, which is made when it is read. */
  features: (a: number, i: number) => number[];
  /** Why the model there is was not used; null when it was, or when there is none. */
  failure: unknown;
}

/** Longest wait for the model, milliseconds: a request goes on without it rather than late. */
const waitMs = 500;
const tooLate = (): Error => new Error(`the helpfulness model has not answered within ${waitMs} ms`);

export type RatingModel = Pick<HelpfulnessModel, "version" | "score">;

export async function rate(
  features: HelpfulnessFeatures,
  request: RequestFacts,
  candidates: readonly CandidateFacts[],
  arms: readonly ArmFacts[],
  model: RatingModel | null,
): Promise<Ratings> {
  const count = candidates.length * arms.length;
  const rows = features(request, candidates, arms);
  const standIn = (failure: unknown): Ratings => ({
    version: 0,
    helpfulness: similarityOf(candidates, arms.length),
    features: rows.one,
    failure,
  });
  if (model === null || count === 0) return standIn(null);
  try {
    // The model may move the buffer to a worker: nothing else reads it.
    const helpfulness = await inTime(waitMs, model.score(rows.all()), tooLate);
    if (helpfulness.length !== count)
      throw new Error(`the helpfulness model gave ${helpfulness.length} values for ${count} rows of features`);
    return { version: model.version, helpfulness, features: rows.one, failure: null };
  } catch (error) {
    return standIn(error);
  }
}

/** For every arm the same. */
function similarityOf(candidates: readonly CandidateFacts[], arms: number): Float32Array {
  const n = candidates.length;
  const helpfulness = new Float32Array(arms * n);
  for (let i = 0; i < n; i++) helpfulness[i] = Math.max(0, Math.min(1, candidates[i]!.similarity));
  for (let a = 1; a < arms; a++) helpfulness.copyWithin(a * n, 0, n);
  return helpfulness;
}
