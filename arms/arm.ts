// The port of everything that answers a request: endpoint, local model, log. It never throws for
// external causes: failures have stable codes.
import type { BreakerState } from "../algorithms/queueing/breaker.ts";
import type { BlockPiece, CallPiece, Params, Piece, ThoughtPiece, Usage } from "../schemas/types.ts";

export interface ArmRequest {
  requestId: string;
  pieces: readonly Piece[];
  params: Params;
  deadline: number;
  tenant?: string;
  /** Whose KV caches it may use. Absent: a call of the deployment's own. */
  caching?: Caching;
  /** JSON for the endpoint (algorithms/routing/passthrough.ts), for arms that declare it. */
  passthrough?: string | undefined;
  /** The client's own hints for the engine's prefix cache (arms/openai/hints.ts). */
  promptCacheKey?: string | undefined;
  cacheSalt?: string | undefined;
  /** Policy of linked prefill that the request asks for; other arms ignore it. */
  linkPolicy?: string | undefined;
  /**
   * Another arm takes over: with an open breaker the call fails at once with arm_broken, and a
   * failure of the arm's own is not tried again here, unless a reader has text of it already.
   */
  replaceable?: boolean;
  /** All calls together may cost so much at most, in the prices' currency; absent: no bound. */
  maxCost?: number | undefined;
}

export interface Caching {
  domain: string;
  mayStore: boolean;
}

/** A complete answer; an answer cut short by the transport is a failure, never one of these. */
export interface ArmAnswer {
  kind: "answer";
  text: string;
  /** A FinishReason (algorithms/text/finish-reason.ts). */
  finishReason: string;
  /** The stop string of the request that ended the text; absent: none did, or it is unknown. */
  stopSequence?: string | undefined;
  model: string;
  /** Policy of linked prefill that applied; absent where an arm links nothing. */
  linkPolicy?: string;
  usage: Usage;
  /** JSON of what the endpoint's message has besides its text, for a request with passthrough. */
  passthrough?: string | undefined;
  /** Failed calls before it are in it where they were charged. */
  cost: number;
  /** Those calls; absent: there were none. */
  spent?: Spent | undefined;
  /** Model calls made, retries included, from 1. */
  attempts: number;
  /** Milliseconds in the queue, and until the first token; null when not streamed. */
  queueMs: number;
  firstTokenMs: number | null;
  /** replayed: from a replayed log; reuse: an example's answer. Default generated. */
  source?: "generated" | "replayed" | "reuse";
}

/**
 * Codes: not_recorded, endpoint_refused, endpoint_timeout, endpoint_rejected, endpoint_unavailable,
 * rate_limited, stream_cut, request_rejected, prompt_too_large, too_expensive, cancelled,
 * model_failed, arm_broken.
 */
export interface ArmFailure {
  kind: "failure";
  code: string;
  message: string;
  attempts: number;
  /** The same call may succeed later; the arm has used up its own retries. */
  retriable: boolean;
  /** The arm would fail so whatever it was asked (its key, its quota): not the request's fault. */
  unhealthy?: boolean;
  /** The member of the request that is wrong. */
  param?: string | undefined;
  /** Milliseconds after which the endpoint may be called again, as it said. */
  retryAfterMs?: number | undefined;
  /** Another replica of the arm answers: the failure says nothing of the arm. */
  replicasLeft?: boolean;
  /** What failed calls were charged; absent: nothing, as far as is known. */
  spent?: Spent | undefined;
}

export interface Spent {
  /** The last one's. */
  usage: Usage;
  /** Their sum. */
  cost: number;
  /** How many they were. */
  calls: number;
}

export type ArmResult = ArmAnswer | ArmFailure;

/** Reason of an abort: the client needs no answer. Others end the call in this process alone. */
export const TAKEN_BACK = "taken back";

/** The code of a call that was not made, because the arm's breaker is open. */
export const ARM_BROKEN = "arm_broken";
const unhealthyCodes: ReadonlySet<string> = new Set([
  ...["endpoint_refused", "endpoint_timeout", "endpoint_unavailable", "rate_limited", "stream_cut", "model_failed"],
  ARM_BROKEN,
]);

/** The request's own deadline ended the call. */
export const endedByDeadline = ({ code, retriable }: ArmFailure): boolean => code === "endpoint_timeout" && !retriable;

/** The arm caused it, and breakers count it; false: the request did, or the client ended it. */
export const isArmsFault = (failure: ArmFailure): boolean =>
  failure.unhealthy === true || (unhealthyCodes.has(failure.code) && !endedByDeadline(failure));

export interface ArmInventory {
  /** Bloom filter of cacheName() (algorithms/identity/identity.ts). */
  bloom: Uint8Array;
  hashes: number;
  /** Names in it, and bytes of the caches behind them. */
  chunks: number;
  bytes: number;
  /** Reads of caches by tier, and prefetches, since the model's process started. */
  reads: { memoryHits: number; diskHits: number; misses: number; prefetched: number };
}

/** An endpoint of an arm, as this process sees it. */
export interface ReplicaState {
  /** Its address. */
  name: string;
  /** Calls of this process under way. */
  calls: number;
  /** Requests under way: what it reports, and what was sent since; at least `calls`. */
  load: number;
  breaker: BreakerState;
  /** Its last report; undefined: none, or it is too old. */
  engine: { running: number | null; waiting: number; cacheUsage: number | null } | undefined;
}

/** Ids of examples, and pieces of documents (pieceName of algorithms/identity/identity.ts). */
export interface Cached {
  examples: readonly string[];
  documents: readonly string[];
}

/** The caches that an arm made. Both reject when the arm's process dies meanwhile. */
export interface ArmCaches {
  cached(): Promise<Cached>;
  /** Removes the caches of these, and those made behind one of them; how many. */
  forget(cached: Cached): Promise<number>;
}

/**
 * `calls`: pieces of calls of tools that came with the text, which may be "" then. `blocks`: the
 * same in Anthropic's blocks, where the request asks for them.
 */
export type OnText = (
  text: string,
  attempt: number,
  calls?: readonly CallPiece[],
  blocks?: readonly BlockPiece[],
  thoughts?: ThoughtPiece,
) => void;

export interface Arm {
  readonly name: string;
  readonly model: string;
  readonly concurrency: number;
  /** Texts as they come; a new attempt, from 1, starts over. Rejects only for bugs. */
  answer(request: ArmRequest, signal: AbortSignal, onText?: OnText): Promise<ArmResult>;
  /** Null while unknown. Rejects when the arm's process dies meanwhile. */
  inventory?(): Promise<ArmInventory | null>;
  /** Only of arms with endpoints. */
  replicas?(): ReplicaState[];
  /** Only of arms that keep caches. */
  caches?: ArmCaches;
  close(): Promise<void>;
}
