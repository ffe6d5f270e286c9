// What is kept of a response for exact repeats of its request: the answer, with the time that it
// may be given, in the transaction of the response. Only a whole one: made of everything that was
// there, by the arm that was decided on, ended by the model or by the limit of tokens, and within
// the limit of bytes. An answer in which personal data is found is not kept at all: with
// placeholders it would be another answer than the one that a repeat asks for.
import type { Emit } from "../../runtime/step.ts";
import type { Response, Work } from "../../schemas/types.ts";

/** At most one record. Never rejects. */
export type Keep = (work: Work, response: Response) => Promise<Emit<"answers">[]>;

export interface KeepDependencies {
  /** Milliseconds that an answer of a sharing domain is kept; 0: none is. */
  ttlMs: (domain: string) => number;
  /** Of request and answer together. */
  maxBytes: number;
  /** False where personal data is found, or it can't be told soon. */
  isClean: (text: string) => Promise<boolean>;
}

const wholeAnswers: readonly (string | null)[] = ["stop", "length"];

export function createKeep({ ttlMs, maxBytes, isClean }: KeepDependencies): Keep {
  return async function keep({ request, decision, cacheKey }, response) {
    const { text, finishReason, arm, model, cost, createdAt, requestId } = response;
    const ttl = ttlMs(decision.domain);
    const isWhole =
      response.status === "ok" &&
      wholeAnswers.includes(finishReason) &&
      text !== "" &&
      response.degraded.length + response.failedArms.length === 0;
    if (cacheKey === null || ttl <= 0 || !isWhole || arm === null) return [];
    const texts = [...request.messages.map(({ content }) => content), text];
    const bytes = texts.reduce((sum, one) => sum + Buffer.byteLength(one), 0);
    if (bytes > maxBytes || !(await isClean(text))) return [];
    const { tenant, domain } = decision;
    return [
      {
        output: "answers",
        key: `${domain}/${cacheKey}`,
        record: {
          ...{ tenant, domain, hash: cacheKey, requestId, text, finishReason, arm, model: model ?? "", cost, bytes },
          expiresAt: createdAt + ttl,
          createdAt,
        },
      },
    ];
  };
}
