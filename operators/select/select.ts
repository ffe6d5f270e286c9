// Selects the examples that each arm would be shown: the nearest of the request's own domain, then the most helpful of them within the
// arm's budget. Needs embed before it. Never reaches into another domain or tenant, and never fails a request: without a vector or
// without the index there are no examples, and degraded says so.
import type { Config } from "../../config/schema.ts";
import type { Candidate, ExamplePool } from "../../connections/pool/port.ts";
import { VectorError } from "../../connections/vectors/port.ts";
import { ok, type Step } from "../../runtime/step.ts";
import type { Embedded, Selected } from "../flow.ts";
import { chooseExamples, similarityAsHelpfulness, type ChooseLimits, type Helpfulness } from "./choose.ts";

export interface SelectDependencies {
  pool: Pick<ExamplePool, "nearest">;
  selection: Config["selection"];
  /** The arms as configured now, and whether each is shown examples. */
  arms: () => readonly { name: string; examples: boolean }[];
  /** Milliseconds since the epoch; expired examples are not shown. */
  clock: () => number;
  /** Default: similarity, clipped to [0, 1]. */
  helpfulness?: Helpfulness;
}

export function createSelect(dependencies: SelectDependencies): Step<Embedded, Selected> {
  const { pool, selection, arms, clock, helpfulness = similarityAsHelpfulness } = dependencies;
  // While helpfulness is similarity, its threshold is the one of similarity.
  const threshold = Math.max(0, selection.minimumSimilarity);
  const limits: ChooseLimits = { ...selection, threshold };

  return async function select(input, context) {
    const current = arms();
    const wanted = selection.examples > 0 && current.some((arm) => arm.examples);
    const degraded = [...input.degraded];
    let candidates: Candidate[] = [];
    if (wanted && input.embedding !== null) {
      try {
        candidates = await pool.nearest(input.domain, input.embedding, selection.candidates, clock());
      } catch (error) {
        if (!(error instanceof VectorError)) throw error;
        context.log.warn({ err: error }, "no candidates: the request goes on without examples");
        degraded.push("examples");
      }
    }
    const examplesByArm = new Map(
      current.map((arm) => [
        arm.name,
        arm.examples ? chooseExamples(candidates, input.request.id, arm.name, limits, helpfulness) : [],
      ]),
    );
    const trialByArm = new Map();
    return ok({ ...input, degraded, examplesByArm, trialByArm, threshold, exploredThreshold: null, proxyVersion: 0 });
  };
}
