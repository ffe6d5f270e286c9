// The values that flow through plan and generate: each operator adds what it found.
import type { Emit, Received } from "../runtime/step.ts";
import type { Assignment, Decision, ExampleTrial, Piece, Request, Work } from "../schemas/types.ts";
import type { DrawnOrder } from "../algorithms/selection/example-order.ts";

/** A request whose id and creation time are settled (algorithms/identity/identity.ts). */
export type IdentifiedRequest = Request & { id: string; createdAt: number };

/** After validate. */
export interface Validated extends Received<Request> {
  request: IdentifiedRequest;
  domain: string;
  deadline: number;
  /** The last user turn: what is embedded and what examples are compared with. */
  question: string;
  /** What was missing so far; ends in Decision.degraded. */
  degraded: string[];
}
export interface Assigned extends Validated {
  /** Null: it takes part in no experiment. */
  experiment: Assignment | null;
  /** Version of the router that its variant names; absent: the newest. */
  routerVersion?: number | undefined;
}
export interface LookedUp extends Assigned {
  /** Absent: its response may not be cached. */
  cacheKey?: CacheKey | undefined;
}
export interface CacheKey {
  /** algorithms/response-cache/cache-key.ts. */
  hash: string;
  /** Digest of the texts of the request's documents; the key holds for these texts only. */
  documents: string;
}
export interface Embedded extends LookedUp {
  /** Unit length; null when the embedder is missing (degraded says so). */
  embedding: Float32Array | null;
}

export interface SelectedExample {
  id: string;
  request: string;
  response: string;
  similarity: number;
  /** Predicted helpfulness, [0, 1]; the similarity until a helpfulness model is learnt. */
  helpfulness: number;
  tokens: number;
  /** The one of the trial, forced in. */
  explored: boolean;
  /** What was added to its helpfulness for the choice, because the arm had it cached. */
  cachedBonus: number;
  /** Its row of the helpfulness features; empty: not made. */
  features: number[];
}
export interface NearMiss {
  /** Name of the arm of type reuse. */
  arm: string;
  example: Pick<SelectedExample, "id" | "similarity" | "helpfulness">;
}
export interface Selected extends Embedded {
  examplesByArm: ReadonlyMap<string, SelectedExample[]>;
  /** How they stand in the prompt, by arm that is shown any. */
  orderByArm: ReadonlyMap<string, DrawnOrder>;
  /** The example forced in or kept out by chance, by arm with a trial. */
  trialByArm: ReadonlyMap<string, ExampleTrial>;
  /** tau in force. */
  threshold: number;
  /** The tau tried instead on this request. */
  exploredThreshold: number | null;
  /** Version of the model that predicted helpfulness; 0: none did. */
  helpfulnessVersion: number;
  /** The example whose answer was closest to being reused, but not good enough; null: none. */
  nearMiss: NearMiss | null;
}
export type Choice = Pick<
  Decision,
  "arms" | "arm" | "probability" | "alternativeArm" | "alternativeProbability" | "load"
> &
  Pick<Decision, "policyVersion" | "asked" | "askProbability" | "breakers" | "reuse" | "createdAt">;
export interface Routed extends Selected {
  choice: Choice;
}

export interface Composed extends Routed {
  prompt: ComposedPrompt;
}
export interface ComposedPrompt {
  pieces: Piece[];
  template: string;
  /** Under which the answer may be kept; null: it may not. */
  cacheKey: string | null;
  plannedAt: number;
}
export interface Paired extends Composed {
  /** The arm that gives a second answer, and its prompt; null: none does. */
  alternative: { arm: string; pieces: Piece[] } | null;
}

export type Taken = Received<Work>;
export interface Linked extends Taken {
  prompt: Prompt;
}
/** A prompt in pieces, so that chunks can be linked; messages() of arms/arm.ts flattens it. */
export interface Prompt {
  pieces: Work["pieces"];
  /** Name of the policy of linked prefill that the request asks for; absent: the arm's own. */
  linkPolicy?: string;
}
/** After call: answered, failed for good, or another arm's to answer. */
export interface Called extends Linked {
  /** The response and what is kept of it, the alternative answer, or the work for the other arm. */
  emits: Emit<"responses" | "alternative-answers" | "work" | "response-cache">[];
}
