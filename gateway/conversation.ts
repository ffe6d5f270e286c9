// Everything that ClickHouse knows of one request.
import type { ArmScore, Message, StepTiming } from "../schemas/types.ts";

export interface Conversation {
  request: {
    id: string;
    tenant: string;
    domain: string;
    messages: Message[];
    /** Ids of those that it named. */
    documents: string[];
    /** Requested value; null: the arm's default. */
    params: {
      maxTokens: number | null;
      temperature: number | null;
      topP: number | null;
      seed: number | null;
      stop: string[];
    };
    /** JSON of members beyond text, `messages` with tool calls and images too; empty: none. */
    passthrough: string;
    /** What an arm must declare because of it. */
    requires: string[];
    /** `user` is one of them. */
    metadata: Record<string, string>;
    allowedArms: string[];
    /** Its own limits; null, or absent: those of the configuration. */
    limits?: { maxCost: number | null; deadlineMs: number | null; costWeight: number | null };
    privacy: { cache: boolean; share: boolean; fresh: boolean };
    /** Trace id from the client or the gateway, 32 hexadecimal digits; empty: none. */
    traceId: string;
    createdAt: number;
  };
  decision?:
    | {
        /** cache: a cached answer was given, and no arm chosen; absent: an arm was. */
        source?: "routed" | "cache" | "imported";
        /** Hash under which the answer is kept or was found; empty: it may not be kept. */
        cacheKey?: string;
        arm: string;
        probability: number;
        policyVersion: number;
        template: string;
        /** 0: similarity stood in for helpfulness. */
        helpfulnessVersion: number;
        threshold: number;
        /** Tried instead. */
        exploredThreshold: number | null;
        /** L when it was routed. */
        load: number;
        arms: ArmScore[];
        /** State by arm of the breakers that were not closed. */
        breakers: Record<string, string>;
        /** The arm whose answer could be reused; empty, or absent: none. */
        reuseArm?: string;
        reuseExample?: string;
        reuseSimilarity?: number;
        reuseQuality?: number;
        reuseBound?: number;
        /** on, off or held_back. */
        reuseState?: string;
        reuseVerifies?: boolean;
        /** Feedback was asked for; askProbability: null where it was not logged. */
        asked: boolean;
        askProbability: number | null;
        /** Drawn beside the chosen one where the arms were nearly even. */
        alternativeArm: string | null;
        degraded: string[];
        timings: StepTiming[];
      }
    | undefined;
  /** Those that an arm would have been shown, as far as the table still has them. */
  examples: { id: string; request: string; response: string }[];
  /** The example that chance forced into the prompt or kept out of it. */
  trial?: { id: string; shown: boolean; probability: number } | undefined;
  response?:
    | {
        status: string;
        text: string;
        /** JSON of the rest of its message, such as tool calls; empty: nothing. */
        passthrough: string;
        finishReason: string | null;
        /** Personal data was replaced in it. */
        redacted: boolean;
        arm: string | null;
        model: string | null;
        source: string;
        /** Arms that failed before the one that answered, in order; ms: duration of their calls. */
        failedArms: { arm: string; code: string; message: string; attempts: number; cost: number; ms: number }[];
        /** How long it was planned and waited; first token and total count from its arrival. */
        planMs: number;
        queueMs: number;
        firstTokenMs: number | null;
        totalMs: number;
        promptTokens: number;
        /** Prompt tokens: from linked KV caches, of these computed again, and computed as usual. */
        linkedTokens: number;
        recomputedTokens: number;
        prefilledTokens: number;
        /** By the endpoint: cached before, and written to its cache. */
        cachedTokens: number;
        cacheWriteTokens: number;
        completionTokens: number;
        reasoningTokens: number;
        /** Model calls, those that were charged, and what failed ones were charged with. */
        attempt: number;
        billed: number;
        failedCost: number;
        cost: number;
        /** What an answer given from the cache had cost. */
        savedCost?: number;
        errorCode: string | null;
        errorMessage: string | null;
      }
    | undefined;
  /** The alternative arm's answer, for comparison. */
  alternative?:
    | {
        status: string;
        text: string;
        arm: string | null;
        model: string | null;
        totalMs: number;
        promptTokens: number;
        completionTokens: number;
        cost: number;
        errorCode: string | null;
        errorMessage: string | null;
      }
    | undefined;
  feedback: {
    id: string;
    kind: string;
    value: number | null;
    source: string;
    against: string | null;
    withdraws: string | null;
    text: string | null;
    comment: string | null;
    createdAt: number;
  }[];
  reward?: { reward: number; weight: number; counted: number; received: number } | undefined;
  /** What curate made of it. */
  admission?: { outcome: string; reason: string; exampleId: string } | undefined;
}
