// Made by tools/generate/types.ts from schemas/avro, which says what the fields mean. Do not edit: run "npm run types".

/** Permissions of a gateway key, by its id. Its limits may change, and it may be revoked or expire. Never deleted, so that requests need a key from the first one on. */
export interface ApiKey {
  id: string;
  tenant: string;
  admin: boolean;
  hash: string;
  label: string;
  arms: string[] | null;
  domains: string[] | null;
  requestsPerMinute: number | null;
  tokensPerMinute: number | null;
  account: string | null;
  spendLimitPerDay: number | null;
  spendLimitPerMonth: number | null;
  createdAt: number;
  expiresAt: number | null;
  revokedAt: number | null;
}

/** What the breaker of a process that calls an arm says of it, newest by arm/instance; one that is not renewed for half a minute is void. */
export interface ArmBreaker {
  arm: string;
  tenant: string;
  instance: string;
  state: "closed" | "open" | "half-open";
  replicas: ReplicaReport[];
  createdAt: number;
}

export interface ReplicaReport {
  name: string;
  state: "closed" | "open" | "half-open";
  calls: number;
  running: number | null;
  waiting: number | null;
  cacheUsage: number | null;
}

/** A line of an uploaded file of requests. Lines of a file lie in one partition, in their order. */
export interface BatchLine {
  fileId: string;
  tenant: string;
  line: number;
  customId: string | null;
  text: string;
  tooLong: boolean;
}

/** What is known of an uploaded file or of a batch. Each writer has a record of its own: the client (file, order), who cancels, and the gateway that works on it (progress). */
export interface BatchPart {
  id: string;
  tenant: string;
  createdAt: number;
  file: BatchFile | null;
  order: BatchOrder | null;
  progress: BatchProgress | null;
  cancelled: boolean;
  deleted: boolean;
}

/** An uploaded file and where its lines lie on the topic batch-lines. */
export interface BatchFile {
  id: string;
  name: string;
  bytes: number;
  lines: number;
  partition: number;
  from: number;
  to: number;
  account: string | null;
  problems: LineProblem[];
}

export interface LineProblem {
  line: number;
  code: string;
  message: string;
  param: string | null;
}

/** A batch as its client wants it. */
export interface BatchOrder {
  endpoint: string;
  account: string | null;
  metadata: Record<string, string>;
  expiresAt: number;
}

/** How far a batch is. */
export interface BatchProgress {
  line: number;
  offset: number;
  completed: number;
  failed: number;
  completedAhead: number;
  failedAhead: number;
  deferred: number;
  startedAt: number;
  finalizingAt: number | null;
  result: BatchResult | null;
}

export interface BatchResult {
  status: string;
  finishedAt: number;
  outputBytes: number;
  errorBytes: number;
}

/** A cached response, for exact repeats of its request. Key: domain/hash. A tombstone withdraws it. */
export interface CacheEntry {
  tenant: string;
  domain: string;
  hash: string;
  requestId: string;
  text: string;
  finishReason: string | null;
  stopSequence: string | null;
  arm: string;
  model: string;
  cost: number;
  bytes: number;
  expiresAt: number;
  createdAt: number;
}

/** A client needs no answer to its request any more: the model call is ended, the response is failed, cancelled. */
export interface Cancel {
  requestId: string;
  tenant: string;
  createdAt: number;
}

/** A record that could not be processed; whole, where it fits. */
export interface DeadLetter {
  tenant: string;
  stage: string;
  code: string;
  reason: string;
  topic: string;
  partition: number;
  offset: number;
  firstOffset: number | null;
  key: Buffer | null;
  value: Buffer | null;
  headers: Record<string, Buffer>;
  headerList: Header[];
  fullBytes: number | null;
  fullSha256: string | null;
  timestamp: number | null;
  createdAt: number;
}

export interface Header {
  name: string;
  value: Buffer | null;
}

/** Why a request was answered as it was. */
export interface Decision {
  requestId: string;
  partition: number;
  offset: number;
  tenant: string;
  domain: string;
  featureVersion: number;
  arms: ArmScore[];
  arm: string;
  probability: number;
  alternativeArm: string | null;
  alternativeProbability: number | null;
  alternative: boolean;
  threshold: number;
  exploredThreshold: number | null;
  load: number;
  policyVersion: number;
  helpfulnessVersion: number;
  helpfulnessFeatures: number;
  template: string;
  asked: boolean;
  askProbability: number | null;
  breakers: Record<string, string>;
  reuse: ReuseTrial | null;
  experiment: Assignment | null;
  source: "routed" | "cache" | "imported";
  cacheKey: string | null;
  degraded: string[];
  timings: StepTiming[];
  createdAt: number;
}

/** How one arm looked for this request (docs/design/routing.md, Score). */
export interface ArmScore {
  arm: string;
  model: string;
  cost: number;
  context: number[];
  mean: number;
  deviation: number;
  sampled: number;
  bias: number;
  saturation: number;
  cachedShare: number;
  probability: number;
  examples: ShownExample[];
  order: string;
  orderProbability: number;
  trial: ExampleTrial | null;
}

/** An example in the prompt of an arm, in prompt order. */
export interface ShownExample {
  id: string;
  similarity: number;
  helpfulness: number;
  tokens: number;
  explored: boolean;
  cachedBonus: number;
  features: number[];
}

/** One candidate, drawn evenly, that chance forced into the prompt or kept out of it: the unbiased label of helpfulness (docs/design/selection.md, Unbiased labels). */
export interface ExampleTrial {
  id: string;
  shown: boolean;
  probability: number;
  similarity: number;
  helpfulness: number;
  features: number[];
}

/** An example whose answer could be given as it is (docs/arms.md, reuse). */
export interface ReuseTrial {
  arm: string;
  exampleId: string;
  similarity: number;
  quality: number;
  bound: number;
  state: "on" | "off" | "held_back" | "near_miss";
  verifies: boolean;
  savedCost: number;
}

/** The variant of an experiment under which a request was decided. */
export interface Assignment {
  name: string;
  variant: string;
  isControl: boolean;
  probability: number;
  unit: string;
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
  index: number;
  text: string;
  calls: CallPiece[];
  blocks: BlockPiece[];
  thoughts: ThoughtPiece | null;
  createdAt: number;
}

/** A piece of a call of a tool: the first one of a call has its id and its name. */
export interface CallPiece {
  index: number;
  id: string | null;
  type: string | null;
  name: string | null;
  arguments: string;
}

/** A piece of a content block, or of what follows a block's text (its signature). */
export interface BlockPiece {
  index: number;
  head: string | null;
  text: string;
}

export interface ThoughtPiece {
  member: string;
  text: string;
}

/** Put once, named by requests, linked ever after. */
export interface Document {
  tenant: string;
  id: string;
  text: string;
  title: string | null;
  expiresAt: number | null;
  createdAt: number;
}

/** An erasure (precedent forget), as hashes only: later records of the erased data are dropped, and become no example. Key: id. */
export interface Erasure {
  id: string;
  hashes: string[];
  before: number | null;
  createdAt: number;
}

/** One attempt to better an example. */
export interface ExampleReplay {
  runId: string;
  tenant: string;
  exampleId: string;
  newExampleId: string | null;
  attempt: number;
  oldQuality: number;
  newQuality: number | null;
  tokens: number;
  cost: number;
  outcome: string;
  gain: number | null;
  arm: string | null;
  samples: number;
  relativeCost: number | null;
  createdAt: number;
}

/** An answered request, stored as an example for others. */
export interface Example {
  id: string;
  tenant: string;
  domain: string;
  request: string;
  response: string;
  embedding: Buffer;
  embeddingModel: string;
  source: ExampleSource;
  quality: number;
  bytes: number;
  expiresAt: number | null;
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
  id: string;
  requestId: string;
  tenant: string;
  kind: "thumbs" | "score" | "preference" | "comparison" | "reward" | "correction";
  value: number | null;
  range: Range | null;
  source: "person" | "judge" | "system";
  author: string;
  against: string | null;
  text: string | null;
  withdraws: string | null;
  session: string | null;
  sessionRequests: number;
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
  calls: number;
  createdAt: number;
}

/** Which chunks the store of an arm's process holds, newest by arm/instance; one that is not renewed for minutes is void. */
export interface KvInventory {
  arm: string;
  tenant: string;
  instance: string;
  bloom: Buffer;
  hashes: number;
  chunks: number;
  bytes: number;
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
  id: string | null;
  tenant: string;
  domain: string | null;
  messages: Message[];
  documents: string[];
  params: Params;
  allow: Allow;
  privacy: Privacy;
  mayAsk: boolean;
  mayCompare: boolean;
  replyPartition: number | null;
  deltas: boolean;
  promptCacheKey: string | null;
  cacheSalt: string | null;
  passthrough: string | null;
  requires: string[];
  account: string | null;
  batchUntil: number | null;
  metadata: Record<string, string>;
  createdAt: number | null;
}

/** One chat turn. */
export interface Message {
  role: "system" | "user" | "assistant" | "tool";
  content: string;
}

/** Sampling parameters; null means the arm's default. */
export interface Params {
  maxTokens: number | null;
  temperature: number | null;
  topP: number | null;
  seed: number | null;
  stop: string[];
}

/** What may be spent on the answer. */
export interface Allow {
  arms: string[] | null;
  maxCost: number | null;
  deadlineMs: number | null;
  costWeight: number | null;
}

/** What may be stored. */
export interface Privacy {
  cache: boolean;
  share: boolean;
  fresh: boolean;
}

/** A learned artefact, versioned. */
export interface Policy {
  name: string;
  tenant: string;
  version: number;
  kind: string;
  body: string;
  reference: string | null;
  hash: string | null;
  featureVersion: number;
  trainedThrough: number | null;
  metrics: Record<string, number>;
  revertOf: number | null;
  createdAt: number;
}

/** A linked prefill beside a full one. */
export interface PrefillSample {
  requestId: string;
  tenant: string;
  arm: string;
  model: string;
  policy: string;
  convention: string;
  recomputedShare: number;
  kl: number;
  agreement: number;
  createdAt: number;
}

/** The one final answer to a request. */
export interface Response {
  requestId: string;
  tenant: string;
  domain: string;
  attempt: number;
  status: "ok" | "failed" | "refused";
  text: string;
  finishReason: string | null;
  stopSequence: string | null;
  arm: string | null;
  model: string | null;
  failedArms: FailedArm[];
  source: "generated" | "cache" | "reuse" | "replayed" | "imported" | "none";
  exampleIds: string[];
  exampleTokens: number;
  linkPolicy: string | null;
  usage: Usage;
  duplicate: boolean;
  cost: number;
  failedCost: number;
  billed: number;
  savedCost: number;
  account: string | null;
  timings: ResponseTimings;
  error: ResponseError | null;
  passthrough: string | null;
  degraded: string[];
  asked: boolean;
  alternative: string | null;
  createdAt: number;
}

/** An arm that was asked and failed, or was not asked because its breaker was open. */
export interface FailedArm {
  arm: string;
  code: string;
  message: string;
  attempts: number;
  cost: number;
  billed: number;
  ms: number;
}

/** Tokens. */
export interface Usage {
  prompt: number;
  linked: number;
  recomputed: number;
  prefilled: number;
  cached: number;
  cacheWrite: number;
  completion: number;
  reasoning: number;
  estimated: boolean;
}

/** Milliseconds. */
export interface ResponseTimings {
  plan: number;
  queue: number;
  firstToken: number | null;
  total: number;
}

/** Why there is no answer. */
export interface ResponseError {
  code: string;
  message: string;
  param: string | null;
  retryAfterMs: number | null;
}

/** A request's id that plan has seen for the first time within 24 hours: written in the transaction that commits the request, in the partition of the request. */
export interface SeenId {
  requestId: string;
  tenant: string;
  offset: number;
  hash: string;
  seenAt: number;
}

/** Lines that an arm submits to its provider as one batch: written before the batch is created, and again with its id. */
export interface SubmittedBatch {
  id: string;
  arm: string;
  lines: Buffer;
  batch: string | null;
  createdAt: number;
}

/** Feedback that no longer counts, by who gave it and when it came. Null means any; what comes later is meant, too, until `until`. */
export interface Withdrawal {
  id: string;
  tenant: string | null;
  source: string | null;
  author: string | null;
  since: number | null;
  until: number | null;
  restores: string | null;
  comment: string | null;
  createdAt: number;
}

/** A planned request on its way to an arm. */
export interface Work {
  request: Request;
  decision: Decision;
  role: "answer" | "alternative";
  pieces: Piece[];
  fallback: WorkFallback | null;
  cacheKey: string | null;
  notAfter: number;
  plannedAt: number;
  planMs: number;
}

/** A part of the prompt that can be cached and linked on its own. */
export interface Piece {
  kind: "system" | "example" | "document" | "guidance" | "turn";
  id: string | null;
  role: "system" | "user" | "assistant" | "tool";
  text: string;
}

/** Another arm answers in place of the chosen one. */
export interface WorkFallback {
  arm: string;
  failed: FailedArm[];
}

/** The record of each file, by its name without extension. */
export interface RecordFiles {
  "api-key": ApiKey;
  "arm-breaker": ArmBreaker;
  "batch-line": BatchLine;
  "batch-part": BatchPart;
  "cache-entry": CacheEntry;
  cancel: Cancel;
  "dead-letter": DeadLetter;
  decision: Decision;
  delta: Delta;
  document: Document;
  erasure: Erasure;
  "example-replay": ExampleReplay;
  example: Example;
  feedback: Feedback;
  "inline-calls": InlineCalls;
  "kv-inventory": KvInventory;
  observation: Observation;
  policy: Policy;
  "prefill-sample": PrefillSample;
  request: Request;
  response: Response;
  "seen-id": SeenId;
  "submitted-batch": SubmittedBatch;
  withdrawal: Withdrawal;
  work: Work;
}
