// The response cache's entry, in the response's transaction: complete, undegraded answers by the
// chosen arm within the byte limit and without personal data.
import { finishReasonOf } from "../../algorithms/text/finish-reason.ts";
import type { Emit } from "../../runtime/step.ts";
import type { Response, Work } from "../../schemas/types.ts";

/** At most one record. Never rejects. */
export type ToCacheEntry = (work: Work, response: Response) => Promise<Emit<"response-cache">[]>;

export interface CacheEntryDependencies {
  /** Milliseconds that an answer of a sharing domain is kept; 0: none is. */
  ttlMs: (domain: string) => number;
  maxBytes: number;
  /** False where personal data is found, or it can't be told soon. */
  isClean: (text: string) => Promise<boolean>;
}

const completeReasons: readonly (string | null)[] = ["stop", "length"];

export function createCacheEntry({ ttlMs, maxBytes, isClean }: CacheEntryDependencies): ToCacheEntry {
  return async function keep({ request, decision, cacheKey }, response) {
    const { text, finishReason, stopSequence, arm, model, cost, createdAt, requestId } = response;
    const ttl = ttlMs(decision.domain);
    const isComplete =
      response.status === "ok" &&
      completeReasons.includes(finishReasonOf(finishReason)) &&
      text !== "" &&
      response.degraded.length + response.failedArms.length === 0;
    if (cacheKey === null || ttl <= 0 || !isComplete || arm === null) return [];
    const texts = [...request.messages.map(({ content }) => content), text];
    const bytes = texts.reduce((sum, one) => sum + Buffer.byteLength(one), 0);
    if (bytes > maxBytes || !(await isClean(text))) return [];
    const { tenant, domain } = decision;
    return [
      {
        output: "response-cache",
        key: `${domain}/${cacheKey}`,
        record: {
          ...{ tenant, domain, hash: cacheKey, requestId, text, finishReason, stopSequence, arm },
          ...{ model: model ?? "", cost, bytes },
          expiresAt: createdAt + ttl,
          createdAt,
        },
      },
    ];
  };
}
