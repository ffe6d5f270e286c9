// Judges of example replays: an arm in both orders, or known references. A small model is no judge.
import { z } from "zod";
import { canonicalText } from "../../algorithms/text/canonical.ts";
import { linesOf } from "../../connections/lines.ts";
import { bestTokenF1 } from "../../algorithms/text/token-f1.ts";
import { strongest, type Compared, type Comparison } from "../../algorithms/routing/comparison.ts";

export interface Pair {
  exampleId: string;
  request: string;
  stored: string;
  storedQuality: number;
  candidate: string;
}

export interface Judgement {
  /** How much better the candidate is, [-3, 3]. */
  score: number;
  /** Quality of both, [0, 1]. */
  storedQuality: number;
  quality: number;
  tokens: number;
  cost: number;
}

export interface Judge {
  name: string;
  /** null: this judge can't tell; what it cost is lost. Rejects only when the signal is aborted. */
  compare(pair: Pair, signal: AbortSignal): Promise<Judgement | null>;
}

/** Moves the stored quality towards 1 (or 0) as far as the autorater's score says. */
export function createArmJudge(
  name: string,
  compare: (comparison: Comparison, signal: AbortSignal) => Promise<Compared>,
): Judge {
  return {
    name,
    async compare({ exampleId, request, stored, storedQuality, candidate }, signal) {
      const comparison = { requestId: `judge-${exampleId}`, question: request, first: candidate, second: stored };
      const { score, tokens, cost } = await compare(comparison, signal);
      if (score === null) return null;
      const share = score / strongest;
      const quality = share > 0 ? storedQuality + share * (1 - storedQuality) : storedQuality * (1 + share);
      return { score, storedQuality, quality, tokens, cost };
    },
  };
}

/** Token F1 against the request's references; without any it can't be judged. */
export function createReferenceJudge(references: ReadonlyMap<string, readonly string[]>): Judge {
  return {
    name: "reference",
    compare({ request, stored, candidate }) {
      const known = references.get(canonicalText(request));
      if (known === undefined) return Promise.resolve(null);
      const [storedQuality, quality] = [bestTokenF1(stored, known), bestTokenF1(candidate, known)];
      return Promise.resolve({
        score: strongest * (quality - storedQuality),
        storedQuality,
        quality,
        tokens: 0,
        cost: 0,
      });
    },
  };
}

const line = z
  .object({ request: z.string(), response: z.string().optional(), responses: z.array(z.string()).optional() })
  .transform(({ request, response, responses }) => ({
    request,
    references: responses ?? (response === undefined ? [] : [response]),
  }));

/** References by canonical request, from JSONL. Rejects with the wrong line. */
export async function readReferences(file: string): Promise<Map<string, string[]>> {
  const references = new Map<string, string[]>();
  let number = 0;
  for await (const text of linesOf(file)) {
    number++;
    if (text.trim() === "") continue;
    let parsed: z.infer<typeof line>;
    try {
      parsed = line.parse(JSON.parse(text));
    } catch (error) {
      throw new Error(`${file}:${number}: expected {"request", "response" or "responses"}`, { cause: error });
    }
    const key = canonicalText(parsed.request);
    references.set(key, [...(references.get(key) ?? []), ...parsed.references]);
  }
  return references;
}
