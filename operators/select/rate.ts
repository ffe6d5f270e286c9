// How helpful every candidate is predicted to be for every arm: one call of the model for all of
// them. Without a model, or when it fails, similarity stands in: relevance is what is known then.
import type {
  ArmFacts,
  CandidateFacts,
  HelpfulnessFeatures,
  RequestFacts,
} from "../../algorithms/helpfulness-features.ts";
import type { HelpfulnessModel } from "../../connections/proxy/port.ts";

export interface Ratings {
  /** Version of the model; 0: similarity stands in. */
  version: number;
  /** [0, 1]; of arm a and candidate i at a * candidates + i. */
  helpfulness: Float32Array;
  /** The row of arm a and candidate i begins at (a * candidates + i) * width. */
  features: Float32Array;
  /** Numbers in a row. */
  width: number;
  /** Why the model there is was not used; null when it was, or when there is none. */
  failure: unknown;
}

/** Longest wait for the model, milliseconds: a request goes on without it rather than late. */
const waitMs = 500;

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
  const width = count === 0 ? 0 : rows.length / count;
  const standIn = (failure: unknown): Ratings => ({
    version: 0,
    helpfulness: Float32Array.from({ length: count }, (_, k) => {
      const { similarity } = candidates[k % candidates.length]!;
      return Math.max(0, Math.min(1, similarity));
    }),
    features: rows,
    width,
    failure,
  });
  if (model === null || count === 0) return standIn(null);
  try {
    // A copy: whoever scores may move the buffer to a worker, and the rows are logged with the
    // decision.
    const helpfulness = await within(waitMs, model.score(rows.slice()));
    if (helpfulness.length !== count)
      throw new Error(`the helpfulness model gave ${helpfulness.length} values for ${count} rows of features`);
    return { version: model.version, helpfulness, features: rows, width, failure: null };
  } catch (error) {
    return standIn(error);
  }
}

async function within<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`the helpfulness model has not answered within ${milliseconds} ms`)),
      milliseconds,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
