// Made by tools/generate/types.ts from schemas/avro. Do not edit: run "npm run types".

/** Permissions of a gateway key, by its id. Its limits may change, and it may be revoked or expire. Never deleted, so that requests need a key from the first one on. */
export interface ApiKey {
  /** The part of the key before its dot; no secret. */
  id: string;
  /** Empty for an admin key. */
  tenant: string;
  /** Opens what operators see and do, of all tenants; makes no requests. */
  admin: boolean;
  /** SHA-256 of the secret, in hexadecimal digits. */
  hash: string;
  /** For people. */
  label: string;
  /** Names of the arms that it may use; null means any. */
  arms: string[] | null;
  /** Domains that it may use; null means any. */
  domains: string[] | null;
  /** Over all gateways; null means no limit. */
  requestsPerMinute: number | null;
  /** Tokens of prompts and answers, over all gateways; null: no limit. */
  tokensPerMinute: number | null;
  /** Under which its spending is counted: id of the first key of those that were rotated into this one; null: its own id. */
  account: string | null;
  /** What its account may spend in a day of UTC, in the currency of the prices, over all gateways; null means no limit. */
  spendLimitPerDay: number | null;
  /** The same in a month of UTC. */
  spendLimitPerMonth: number | null;
  createdAt: number;
  /** Refused from then on, by the gateway's clock. */
  expiresAt: number | null;
  /** Refused whenever that is. */
  revokedAt: number | null;
}

/** What the breaker of a process that calls an arm says of it, newest by arm/instance; one that is not renewed for half a minute is void. */
export interface ArmBreaker {
  arm: string;
  tenant: string;
  instance: string;
  /** closed: it was called lately and answers. */
  state: "closed" | "open" | "half-open";
  /** When it was said. */
  createdAt: number;
}

/** A cached response, for exact repeats of its request. Key: domain/hash. A tombstone withdraws it. */
export interface CacheEntry {
  tenant: string;
  /** tenant/domain. */
  domain: string;
  /** Hash of the canonical request (algorithms/response-cache/answer-key.ts). */
  hash: string;
  /** The request that was answered so. */
  requestId: string;
  text: string;
  finishReason: string | null;
  arm: string;
  model: string;
  /** What it cost. */
  cost: number;
  /** Bytes of request and response. */
  bytes: number;
  expiresAt: number;
  createdAt: number;
}

/** A client needs no answer to its request any more: the model call is ended, the response is failed, cancelled. */
export interface Cancel {
  requestId: string;
  /** Whose request it is; another tenant's request of that id is not meant. */
  tenant: string;
  createdAt: number;
}

/** A record that could not be processed, whole. */
export interface DeadLetter {
  tenant: string;
  stage: string;
  code: string;
  reason: string;
  topic: string;
  partition: number;
  offset: number;
  key: Buffer | null;
  value: Buffer | null;
  headers: Record<string, Buffer>;
  /** Timestamp of the source record. */
  timestamp: number | null;
  createdAt: number;
}

/** Why a request was answered as it was. */
export interface Decision {
  requestId: string;
  /** Partition of requests it came from. */
  partition: number;
  /** Its offset there. */
  offset: number;
  tenant: string;
  /** tenant/domain, the sharing domain. */
  domain: string;
  /** Version of the layout of context. */
  featureVersion: number;
  /** Every arm that could be chosen. */
  arms: ArmScore[];
  /** The chosen one. */
  arm: string;
  /** Its exact probability, (0, 1]. */
  probability: number;
  alternativeArm: string | null;
  alternativeProbability: number | null;
  /** The alternative arm answers, too (topic alternative-answers). */
  alternative: boolean;
  /** Helpfulness threshold tau in force. */
  threshold: number;
  /** The tau tried instead on this request. */
  exploredThreshold: number | null;
  /** Load L of the more expensive arms when chosen. */
  load: number;
  /** Version of the router policy; 0 is the prior. */
  policyVersion: number;
  /** Version of the helpfulness model; 0: none. */
  helpfulnessVersion: number;
  /** Version of the layout of the examples' features. */
  helpfulnessFeatures: number;
  /** Prompt template and its version. */
  template: string;
  /** Feedback is asked for. */
  asked: boolean;
  /** Probability with which feedback was to be asked for: 1 where the arms were nearly even, the random share elsewhere; null: not logged. */
  askProbability: number | null;
  /** State of the breakers that are not closed, of arms that the request allows: an open arm could not be chosen, unless all are; a half-open one could, as a probe. */
  breakers: Record<string, string>;
  /** null: no answer could be reused. */
  reuse: ReuseTrial | null;
  /** cache: answered from the response cache, or with the answer to the same request under way; no arm was chosen, and arm is the one that had answered. imported: from the log of another system (docs/import.md). */
  source: "routed" | "cache" | "imported";
  /** Hash under which the answer is cached or was found; null: it may not be cached. */
  cacheKey: string | null;
  /** What was missing when it was made. */
  degraded: string[];
  /** Milliseconds per operator, in order. */
  timings: StepTiming[];
  /** When the decision was made. */
  createdAt: number;
}

/** How one arm looked for this request (docs/design/routing.md, Score). */
export interface ArmScore {
  arm: string;
  model: string;
  /** Normalised cost C_i, [0, 1]. */
  cost: number;
  /** The bandit's x for this arm. */
  context: number[];
  /** Posterior mean of the quality. */
  mean: number;
  /** Posterior standard deviation of the quality. */
  deviation: number;
  /** The Thompson sample that competed. */
  sampled: number;
  /** Cost, load and saturation terms subtracted from the quality. */
  bias: number;
  /** The part of bias that is for this arm's own saturation. */
  saturation: number;
  /** Exact probability with which the arm was to be chosen. */
  probability: number;
  /** What this arm would be shown, most helpful last. */
  examples: ShownExample[];
  /** null: no example was tried on this request. */
  trial: ExampleTrial | null;
}

/** An example in the prompt of an arm, in prompt order. */
export interface ShownExample {
  id: string;
  /** Cosine, [-1, 1]. */
  similarity: number;
  /** Predicted, [0, 1]; the similarity until a helpfulness model is learnt. */
  helpfulness: number;
  /** Estimated tokens that it adds. */
  tokens: number;
  /** The one of the trial, forced in. */
  explored: boolean;
  /** Bonus that was added to its helpfulness for this choice, because the arm had its cache. */
  cachedBonus: number;
  /** Its row of the helpfulness features (algorithms/selection/helpfulness-features.ts); empty: not made. */
  features: number[];
}

/** One candidate, drawn evenly, that chance forced into the prompt or kept out of it: the unbiased label of helpfulness (docs/design/selection.md, Unbiased labels). */
export interface ExampleTrial {
  /** Id of the example. */
  id: string;
  /** Forced into the prompt; else left out. */
  shown: boolean;
  /** Probability that it was shown, (0, 1). */
  probability: number;
  /** Cosine, [-1, 1]. */
  similarity: number;
  /** Predicted, [0, 1]; the similarity until a helpfulness model is learnt. */
  helpfulness: number;
  /** Its row of the helpfulness features. */
  features: number[];
}

/** An example whose answer could be given as it is (docs/arms.md, reuse). */
export interface ReuseTrial {
  /** Arm of type reuse. */
  arm: string;
  exampleId: string;
  /** Cosine, [-1, 1]. */
  similarity: number;
  /** Predicted chance that its answer is the right one, [0, 1]. */
  quality: number;
  /** Upper bound of the share of wrong answers in the sharing domain, by which the arm was on or off. */
  bound: number;
  /** on: the arm could be chosen; off: its bound is above the limit; held_back: another arm answers, for the comparison. */
  state: "on" | "off" | "held_back";
  /** The arm would have been chosen, and another answers: the two answers are compared. */
  verifies: boolean;
  /** What the answer would have cost at the arm that is best without it, estimated. */
  savedCost: number;
}

/** Time one operator took. */
export interface StepTiming {
  operator: string;
  ms: number;
}

/** A piece of an answer under way; best effort, a new attempt starts over. */
export interface Delta {
  requestId: string;
  tenant: string;
  attempt: number;
  /** Counts from 0 within the attempt. */
  index: number;
  text: string;
  calls: CallPiece[];
  createdAt: number;
}

/** A piece of a call of a tool: the first one of a call has its id and its name. */
export interface CallPiece {
  /** Index of the call within the answer, from 0. */
  index: number;
  id: string | null;
  type: string | null;
  name: string | null;
  arguments: string;
}

/** Put once, named by requests, linked ever after. */
export interface Document {
  tenant: string;
  id: string;
  text: string;
  title: string | null;
  createdAt: number;
}

/** An erasure (precedent forget), as hashes only: later records of the erased data are dropped, and become no example. Key: id. */
export interface Erasure {
  /** Id of the erasure; a large one has several records. */
  id: string;
  /** algorithms/privacy/erasure.ts: of requests, of positions of dead letters, or of a tenant. */
  hashes: string[];
  /** Erases a tenant's records that came before. Null: erases them whenever they come. */
  before: number | null;
  createdAt: number;
}

/** One attempt to better an example. */
export interface ExampleReplay {
  runId: string;
  tenant: string;
  exampleId: string;
  /** The example that replaced it; null: it stays. */
  newExampleId: string | null;
  attempt: number;
  oldQuality: number;
  newQuality: number | null;
  tokens: number;
  cost: number;
  outcome: string;
  /** G(e) when it was tried: the saving an hour that was predicted; null: not known. */
  gain: number | null;
  /** Who was asked. */
  arm: string | null;
  /** Answers asked for. */
  samples: number;
  /** What it cost in average answers of an arm of cost 1: the unit of gain. */
  relativeCost: number | null;
  createdAt: number;
}

/** An answered request, stored as an example for others. */
export interface Example {
  /** Derived from domain, request and response. */
  id: string;
  tenant: string;
  /** tenant/domain. */
  domain: string;
  request: string;
  response: string;
  /** Embedding of the request: little-endian float32, unit length. */
  embedding: Buffer;
  embeddingModel: string;
  source: ExampleSource;
  /** [0, 1]. */
  quality: number;
  /** Bytes of texts and embedding. */
  bytes: number;
  expiresAt: number | null;
  /** Times it was replayed, at most 5. */
  replays: number;
  createdAt: number;
}

/** Where the answer came from. */
export interface ExampleSource {
  arm: string;
  model: string;
  requestId: string | null;
}

/** Rating of a response. */
export interface Feedback {
  /** Idempotency key. */
  id: string;
  requestId: string;
  tenant: string;
  kind: "thumbs" | "score" | "preference" | "comparison" | "reward" | "correction";
  /** In the kind's range. */
  value: number | null;
  range: Range | null;
  source: "person" | "judge" | "system";
  /** Who said it, within the source: a name by which all of it can be withdrawn; empty: not said. */
  author: string;
  /** Arm of the other response, for pairwise kinds. */
  against: string | null;
  /** Text of a correction. */
  text: string | null;
  /** Id of feedback that no longer counts. */
  withdraws: string | null;
  comment: string | null;
  createdAt: number;
}

/** Stated range of a score. */
export interface Range {
  low: number;
  high: number;
}

/** How many calls of an inline arm a plan process has under way, newest by arm/instance; one that is not renewed for half a minute is void. */
export interface InlineCalls {
  arm: string;
  tenant: string;
  instance: string;
  /** Under way or waiting for their turn in the arm. */
  calls: number;
  /** When they were counted. */
  createdAt: number;
}

/** Which chunks the store of an arm's process holds, newest by arm/instance; one that is not renewed for minutes is void. */
export interface KvInventory {
  arm: string;
  tenant: string;
  instance: string;
  /** Bloom filter (algorithms/numeric/bloom.ts) of kind/id, such as example/0123. */
  bloom: Buffer;
  /** Hash functions of the Bloom filter. */
  hashes: number;
  /** Names in the filter. */
  chunks: number;
  /** Bytes of the caches behind them. */
  bytes: number;
  /** When the store was looked at. */
  createdAt: number;
}

/** A request and its answer from another system. */
export interface Observation {
  tenant: string;
  domain: string | null;
  request: Request;
  text: string;
  source: ExampleSource;
  quality: number | null;
  createdAt: number;
}

/** What a client asks. Without an id one is derived from topic, partition and offset; without createdAt the Kafka timestamp counts. */
export interface Request {
  /** UUIDv7 by preference; seen again within 24 h it gets a copy of the first response. */
  id: string | null;
  /** Owner of the request; tenants share nothing but examples of domains that the configuration names. */
  tenant: string;
  /** Sharing domain inside the tenant; null means the tenant's default domain. */
  domain: string | null;
  /** The conversation, oldest first; at least one message. */
  messages: Message[];
  /** Ids of documents put before, to stand in the prompt. */
  documents: string[];
  params: Params;
  allow: Allow;
  privacy: Privacy;
  /** The client may be asked for feedback. */
  mayAsk: boolean;
  /** Another arm may answer, too, and the client be asked which answer is better (topic alternative-answers); only with mayAsk. */
  mayCompare: boolean;
  /** Partition of responses that the client reads; null: by key. */
  replyPartition: number | null;
  /** Pieces of the answer under way are wanted, on that partition of deltas. */
  deltas: boolean;
  /** JSON object: members of a chat completion that are passed to the endpoint unchanged (tools, response_format, ...), and messages in place of ours. */
  passthrough: string | null;
  /** What an arm must declare to be asked, because of passthrough: tools, vision, parameters. */
  requires: string[];
  /** Account that is charged with the answer's cost: id of the gateway's key, of the first one if it was rotated; null: none. */
  account: string | null;
  /** Opaque, recorded. */
  metadata: Record<string, string>;
  /** Milliseconds since the epoch. */
  createdAt: number | null;
}

/** One chat turn. */
export interface Message {
  /** Who speaks. */
  role: "system" | "user" | "assistant" | "tool";
  content: string;
}

/** Sampling parameters; null means the arm's default. */
export interface Params {
  maxTokens: number | null;
  temperature: number | null;
  topP: number | null;
  seed: number | null;
  /** Stop strings, not part of the answer. */
  stop: string[];
}

/** What may be spent on the answer. */
export interface Allow {
  /** Names of the arms that may answer; null means any. */
  arms: string[] | null;
  /** Upper bound of the cost of the answer, in the prices' currency. */
  maxCost: number | null;
  /** Milliseconds after createdAt within which an answer is useful; 120,000 when null. */
  deadlineMs: number | null;
  /** lambda_c of this request: the price of cost in quality, >= 0. */
  costWeight: number | null;
}

/** What may be stored. */
export interface Privacy {
  /** The answer may be cached. */
  cache: boolean;
  /** It may help other requests of the domain. */
  share: boolean;
  /** The response cache is bypassed; the new answer may be cached. */
  fresh: boolean;
}

/** A learned artefact, versioned. */
export interface Policy {
  /** router, threshold, helpfulness, or link/ and an arm. */
  name: string;
  tenant: string;
  /** Ascending. */
  version: number;
  /** How to read the body. */
  kind: string;
  /** JSON, or empty where referenced. */
  body: string;
  /** Where a large body lies. */
  reference: string | null;
  /** sha256 of a referenced body. */
  hash: string | null;
  featureVersion: number;
  /** Newest data in it. */
  trainedThrough: number | null;
  metrics: Record<string, number>;
  /** The version whose body this repeats. */
  revertOf: number | null;
  createdAt: number;
}

/** A linked prefill beside a full one. */
export interface PrefillSample {
  requestId: string;
  tenant: string;
  arm: string;
  /** SHA-256 of the model file; empty: not known. */
  model: string;
  policy: string;
  /** What chunks are prefilled behind when they are cached. */
  convention: string;
  recomputedShare: number;
  /** Teacher-forced mean, nats. */
  kl: number;
  /** Share of equal greedy tokens. */
  agreement: number;
  createdAt: number;
}

/** The one final answer to a request. */
export interface Response {
  requestId: string;
  tenant: string;
  /** Counts model calls for this request, from 1; 0: none was made. */
  attempt: number;
  status: "ok" | "failed" | "refused";
  text: string;
  /** stop, length, ... */
  finishReason: string | null;
  arm: string | null;
  model: string | null;
  /** Arms in whose place `arm` answered, in order: the first is the decision's. */
  failedArms: FailedArm[];
  /** cache: from the response cache, or from the same request under way; imported: from the log of another system; none: there is no answer. */
  source: "generated" | "cache" | "reuse" | "replayed" | "imported" | "none";
  /** Shown to the model. */
  exampleIds: string[];
  usage: Usage;
  /** A copy of the response to an earlier record with this id. */
  duplicate: boolean;
  /** In the currency of the prices. */
  cost: number;
  /** What the answer had cost when it was made, of one that is given again from the cache. */
  savedCost: number;
  /** The request's account, which is charged with the cost; null: none, or no arm was called. */
  account: string | null;
  timings: ResponseTimings;
  error: ResponseError | null;
  /** JSON {message, logprobs}: what the endpoint's message has besides its text (tool_calls, ...), for requests with passthrough. */
  passthrough: string | null;
  degraded: string[];
  /** Feedback is asked for. */
  asked: boolean;
  /** Arm that answers the same request on the topic alternative-answers, for comparison. */
  alternative: string | null;
  createdAt: number;
}

/** An arm that was asked and failed, or was not asked because its breaker was open. */
export interface FailedArm {
  arm: string;
  /** As of a failed response; arm_broken: not asked. */
  code: string;
  /** Model calls made. */
  attempts: number;
}

/** Tokens. */
export interface Usage {
  prompt: number;
  /** From linked KV caches. */
  linked: number;
  /** Linked tokens that were recomputed. */
  recomputed: number;
  prefilled: number;
  completion: number;
}

/** Milliseconds. */
export interface ResponseTimings {
  plan: number;
  queue: number;
  firstToken: number | null;
  /** createdAt to finished. */
  total: number;
}

/** Why there is no answer. */
export interface ResponseError {
  /** snake_case, stable. */
  code: string;
  /** For a person: what was wrong and what to do. */
  message: string;
}

/** Feedback that no longer counts, by who gave it and when it came. Null means any; what comes later is meant, too, until `until`. */
export interface Withdrawal {
  /** Idempotency key. */
  id: string;
  /** Whose feedback. */
  tenant: string | null;
  /** person, judge or system. */
  source: string | null;
  /** As in Feedback; an empty one is of those who said no name. */
  author: string | null;
  /** Start of the range of times at which the broker got the feedback. */
  since: number | null;
  /** Feedback of this time still counts. */
  until: number | null;
  /** Id of a withdrawal that holds no more; everything above is null then. */
  restores: string | null;
  /** Why. */
  comment: string | null;
  createdAt: number;
}

/** A planned request on its way to an arm. */
export interface Work {
  request: Request;
  /** Whole on the topic decisions; here without contexts, trials, features of examples and timings, which no arm asks for. */
  decision: Decision;
  /** alternative: by the alternative arm, for the topic alternative-answers and never for responses. */
  role: "answer" | "alternative";
  /** The composed prompt, in order; an example is a user and an assistant piece with the same id. */
  pieces: Piece[];
  fallback: WorkFallback | null;
  /** Hash under which the answer may be cached (topic answers); null: it may not. */
  cacheKey: string | null;
  /** Deadline, after which the client no longer needs the answer. */
  notAfter: number;
  plannedAt: number;
  /** Time from createdAt to planned. */
  planMs: number;
}

/** A part of the prompt that can be cached and linked on its own. */
export interface Piece {
  kind: "system" | "example" | "document" | "guidance" | "turn";
  /** Id of the example or document. */
  id: string | null;
  role: "system" | "user" | "assistant" | "tool";
  text: string;
}

/** Another arm answers in place of the chosen one. */
export interface WorkFallback {
  /** That is to answer. */
  arm: string;
  /** In order; the first is the chosen one. */
  failed: FailedArm[];
}
