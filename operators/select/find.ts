// The nearest examples of a request's domains. While the index is away a request goes on with what
// is there. Rejects only for bugs.
import type { StepContext } from "../../runtime/step.ts";
import type { Candidate, ExampleSearch } from "../../state/examples/port.ts";
import { SimilarityDegraded } from "../../state/examples/remote/degraded.ts";
import { VectorError } from "../../state/vectors/port.ts";

export interface Found {
  /** Nearest first. */
  candidates: Candidate[];
  /** examples: the index is away; similarity: only popular examples were searched. */
  degraded: "examples" | "similarity" | null;
}

export const nothingFound: Found = { candidates: [], degraded: null };

export interface FindOptions {
  pool: Pick<ExampleSearch, "nearest">;
  /** Limit of the candidates of all domains together. */
  most: number;
  clock: () => number;
}

/** embedding: unit length, or null where there is none. */
export function createFind({ pool, most, clock }: FindOptions) {
  return async (
    domains: readonly string[],
    embedding: Float32Array | null,
    context: Pick<StepContext, "log">,
  ): Promise<Found> => {
    if (embedding === null) return nothingFound;
    let failure: VectorError | undefined;
    const within = async (domain: string): Promise<Candidate[]> => {
      try {
        return await pool.nearest(domain, embedding, most, clock());
      } catch (error) {
        if (!(error instanceof VectorError)) throw error;
        failure = error;
        return error instanceof SimilarityDegraded ? error.popular : [];
      }
    };
    const found = await Promise.all(domains.map(within));
    const candidates =
      found.length === 1
        ? found[0]!
        : found
            .flat()
            .sort((one, other) => other.similarity - one.similarity)
            .slice(0, most);
    if (failure === undefined) return { candidates, degraded: null };
    if (failure instanceof SimilarityDegraded) {
      context.log.debug({ err: failure }, "popular examples only");
      return { candidates, degraded: "similarity" };
    }
    context.log.warn({ err: failure }, "no candidates: the request goes on without examples");
    return { candidates: [], degraded: "examples" };
  };
}
