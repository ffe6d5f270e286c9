// What the page may ask, and the answers as they travel: the gateway serves this interface, the
// browser knows its types. Nothing of it is SQL.
import type { Rival } from "../../../algorithms/off-policy/rival.ts";
import type { VariantFigures } from "../../../algorithms/off-policy/variant-verdict.ts";
import type { Conversation } from "../../conversation.ts";
import type { BatchList } from "./batches.ts";
import type { Keys } from "./keys.ts";
import type { Letters } from "./letters.ts";
import type { Names } from "./names.ts";
import type { OwnerKind, OwnerList } from "./owners.ts";
import type { PolicyChange } from "./policy-change.ts";
import type { SessionFilter, SessionList } from "./sessions.ts";
import type { Prices } from "../../../config/prices.ts";

export type RequestState = "ok" | "failed" | "refused" | "open";

/** Milliseconds since the epoch, `until` excluded; the rest does not narrow where it is absent. */
export interface RequestFilter {
  from: number;
  until: number;
  search?: string | undefined;
  tenant?: string | undefined;
  domain?: string | undefined;
  arm?: string | undefined;
  /** Id of a gateway key. */
  key?: string | undefined;
  /** cached: cache or reuse. */
  source?: string | undefined;
  /** unanswered: failed or refused. */
  state?: RequestState | "unanswered" | undefined;
  /** Code of a failure. */
  error?: string | undefined;
  /** Words of the answer. */
  answer?: string | undefined;
  /** `user` of the request, or its session: values of its metadata. */
  user?: string | undefined;
  session?: string | undefined;
  /** Another member of its metadata: name=value, or a name alone. */
  tag?: string | undefined;
  /** Bounds: least cost, least time in ms, highest reward. */
  minCost?: number | undefined;
  minMs?: number | undefined;
  maxReward?: number | undefined;
  /** Newest first, or the most expensive, the slowest, the worst rated. */
  sort?: "time" | "cost" | "latency" | "reward" | undefined;
  /** Number of rows to skip. */
  offset?: number | undefined;
  /** At most 200; absent: those of a page (page-rows.ts). */
  limit?: number | undefined;
}

export interface RequestList {
  rows: RequestRow[];
  /** The word search stopped at this time; older requests were not searched. */
  searchedFrom: number | null;
}

export interface RequestRow {
  id: string;
  tenant: string;
  domain: string;
  question: string;
  /** Values of its metadata; empty: none. */
  user: string;
  session: string;
  /** Other members of its metadata, as name=value. */
  tags: string[];
  /** How the answer begins. */
  answer: string;
  createdAt: number;
  state: RequestState;
  /** Absent figures: not planned, or not answered yet. */
  arm: string | null;
  source: string | null;
  probability: number | null;
  /** Score of the chosen arm, when it was chosen. */
  score: number | null;
  examples: number;
  policyVersion: number | null;
  cost: number;
  promptTokens: number;
  linkedTokens: number;
  completionTokens: number;
  queueMs: number | null;
  firstTokenMs: number | null;
  totalMs: number | null;
  reward: number | null;
  errorCode: string | null;
  degraded: string[];
}

/** Filters of the overview. Only the period, milliseconds since the epoch, is required. */
export interface OverviewFilter {
  from: number;
  until: number;
  tenant?: string | undefined;
  domain?: string | undefined;
  arm?: string | undefined;
  /** Id of a gateway key: of the first one where it was rotated. */
  key?: string | undefined;
}

/** Sums over answers. Times in ms; null: nothing was measured. */
export interface Figures {
  answers: number;
  failed: number;
  /** Answers from the response cache, or copied from an example. */
  cacheHits: number;
  cost: number;
  savedCost: number;
  /** Those of generated answers, without the examples' tokens. */
  tokens: number;
  p50Ms: number | null;
  p95Ms: number | null;
  p99Ms: number | null;
  firstTokenP50Ms: number | null;
  firstTokenP95Ms: number | null;
}

/** Figures of one arm; "": answers without an arm. */
export interface ArmFigures extends Figures {
  arm: string;
  /** What its own generated answers cost, and their tokens: the price of a token. */
  generatedCost: number;
  generatedTokens: number;
  promptTokens: number;
  linkedTokens: number;
  recomputedTokens: number;
  prefilledTokens: number;
}

/** Figures of one arm and source in one time step. */
export interface ArmStep extends Figures {
  at: number;
  arm: string;
  source: string;
}

/** Ratings given in the period: mean reward, 0 to 1. */
export interface Quality {
  rated: number;
  mean: number | null;
  /** The 95 % interval is mean -+ this; null: no rating. */
  reach: number | null;
}

export interface Overview {
  from: number;
  until: number;
  stepMs: number;
  now: Figures & { quality: Quality };
  /** Figures of the equally long period before. */
  before: Figures & { quality: Quality };
  steps: ArmStep[];
  arms: (ArmFigures & { quality: Quality })[];
  /** Mean reward by arm in steps. */
  rewards: { at: number; arm: string; rated: number; mean: number }[];
  errors: { code: string; answers: number }[];
  /** Policies that were published in the time, newest first. */
  learnt: Learnt[];
  deadLetters: number;
}

export interface Learnt {
  name: string;
  version: number;
  createdAt: number;
  revertOf: number | null;
  /** Router policies only: others choose no arm. */
  quality: Quality | null;
  before: Quality | null;
}

export interface PolicyVersion {
  name: string;
  version: number;
  kind: string;
  createdAt: number;
  trainedThrough: number | null;
  /** The version that it repeats: learning is paused while it is the newest. */
  revertOf: number | null;
  metrics: Record<string, number>;
  /** Whether `revert` to it, or from it, is possible at all. */
  revertible: boolean;
}

export interface ExampleRow {
  id: string;
  tenant: string;
  domain: string;
  request: string;
  response: string;
  gain: number;
  uses: number;
  ratedUses: number;
  meanQuality: number;
  quality: number;
  replays: number;
  sourceArm: string;
}

export interface ExampleList {
  rows: ExampleRow[];
  /** Figures are of uses since then; null: of all in two weeks. */
  countedFrom: number | null;
}

/** newest: unused ones, too; else by gain. */
export interface ExampleFilter {
  search?: string | undefined;
  sort?: "newest" | undefined;
}

/** example: null where the pool does not have it, or not yet. */
export interface WholeExample {
  example:
    | (Pick<ExampleRow, "id" | "tenant" | "domain" | "request" | "response" | "quality" | "sourceArm"> & {
        sourceModel: string;
        /** Request that it came from; null: another system's. */
        requestId: string | null;
        createdAt: number;
        expiresAt: number | null;
      })
    | null;
  uses: ExampleUse[];
}

export interface ExampleUse {
  requestId: string;
  tenant: string;
  question: string;
  arm: string;
  createdAt: number;
  similarity: number;
  helpfulness: number;
  rated: boolean;
  quality: number;
}

interface Estimated {
  decisions: number;
  ips: number | null;
  snips: number | null;
  /** The 95 % interval is snips -+ this. */
  snipsReach: number | null;
  effective: number | null;
  unsupported: number | null;
}
export interface PolicyValues {
  evaluations: (Estimated & {
    evaluation: string;
    policy: string;
    at: number;
    dr: number | null;
    drReach: number | null;
  })[];
  /** What always taking one arm would have earned; cost: the mean of an answer of it. */
  arms: (Estimated & { arm: string; cost: number | null; rival: Rival | null })[];
}

export interface StageLag {
  stage: string;
  /** Processes of it. */
  members: number;
  topic: string;
  /** Records behind its position, control markers of transactions included; null: never read. */
  lag: number | null;
}

export interface Health {
  stages: StageLag[];
  /** Partitions that an open transaction keeps from readers. */
  stuck: { topic: string; partition: number; since: number }[];
  /** Arms whose breaker is not closed, in a process. */
  breakers: { arm: string; state: string; instance: string }[];
  replicas: Replica[];
  /** Unfinished requests over slots, engines' own figures included; arms that are known so far. */
  load: { arm: string; load: number }[];
  tables: { table: string; newest: number | null; lastHour: number }[];
  /** Dead letters of the last week, by reason. */
  deadLetters: { topic: string; stage: string; code: string; reason: string; count: number; newest: number }[];
  problems: string[];
}

/** An endpoint of an arm, over the processes that called the arm in the last half minute. */
export interface Replica {
  arm: string;
  /** Its address. */
  name: string;
  processes: number;
  /** Those whose breaker of it is not closed. */
  without: number;
  /** Calls of all processes under way. */
  calls: number;
  /** As its engine reports; null: it does not. cacheUsage: used share of its KV cache, 0 to 1. */
  running: number | null;
  waiting: number | null;
  cacheUsage: number | null;
}

/** As it happens, of the topics: nothing of its texts. */
export interface LiveEvent {
  kind: "decided" | "answered";
  id: string;
  tenant: string;
  domain?: string;
  at: number;
  arm: string | null;
  source: string;
  probability?: number;
  examples: number;
  state?: RequestState;
  cost?: number;
  totalMs?: number;
  firstTokenMs?: number | null;
  errorCode?: string | null;
}

export interface LiveBatch {
  events: LiveEvent[];
  /** Left out because there were too many at once. */
  skipped: number;
}

/** A whole request, current prices per million tokens of its arm, and arms to ask again. */
export type WholeRequest = Conversation & { prices: Prices | null; askable: string[] };

/** By an arm, else by the one that a version of the router prefers (0: the prior). */
export interface AskingAgain {
  id: string;
  tenant: string;
  arm?: string | undefined;
  policyVersion?: number | undefined;
  /** All calls together, in the prices' currency. */
  maxCost: number;
}

/** What came of it, which is recorded nowhere. Times in ms from the call. */
export interface AskedAgain {
  arm: string;
  model: string;
  status: "ok" | "failed";
  text: string;
  /** JSON of the rest of its message, such as tool calls; empty: nothing. */
  passthrough: string;
  finishReason: string | null;
  cost: number;
  promptTokens: number;
  completionTokens: number;
  firstTokenMs: number | null;
  totalMs: number;
  errorCode: string | null;
  errorMessage: string | null;
  /** Shown examples, and those of the decision that the pool no longer has. */
  examples: number;
  goneExamples: number;
  /** Version of the router that preferred the arm, and its probability of choosing it. */
  policyVersion: number | null;
  probability: number | null;
}

/** A variant of an experiment; units are the users, sessions, tenants or requests that keep it. */
export interface ExperimentVariant extends VariantFigures {
  experiment: string;
  units: number;
  requests: number;
  unanswered: number;
  /** Means of units; reward in [0, 1]. */
  reward: number | null;
  cost: number;
  totalMs: number;
  lastAt: number;
}

export interface Dashboard {
  requests(filter: RequestFilter): Promise<RequestList>;
  /** null: not recorded. */
  request(id: string, tenant: string): Promise<WholeRequest | null>;
  overview(filter: OverviewFilter): Promise<Overview>;
  /** The newest of each policy; of one, all its versions. */
  policies(name?: string): Promise<PolicyVersion[]>;
  examples(filter: ExampleFilter): Promise<ExampleList>;
  example(id: string): Promise<WholeExample>;
  values(): Promise<PolicyValues>;
  experiments(): Promise<ExperimentVariant[]>;
  health(): Promise<Health>;
  /** Names for filters. */
  names(): Promise<Names>;
  /** Rejects with PolicyRefused when it can't be asked; the signal ends the call. */
  askAgain(asking: AskingAgain, signal: AbortSignal): Promise<AskedAgain>;
  /** Acts on examples; the id is the example's. Each may reject with PolicyRefused. */
  keepAnswer(requestId: string, tenant: string): Promise<{ id: string }>;
  editExample(edited: { id: string; request: string; response: string }): Promise<{ id: string }>;
  removeExample(id: string): Promise<{ id: string }>;
  /** Rejects with PolicyRefused when there is nothing to go back to. */
  revert(name: string, version: number): Promise<PolicyVersion>;
  resume(name: string): Promise<PolicyVersion>;
  owners(filter: OverviewFilter & { by: OwnerKind }): Promise<OwnerList>;
  /** null: no such version of the router. */
  policyChange(version: number): Promise<PolicyChange | null>;
  /** Quality by version of the router. */
  policyRewards(): Promise<{ version: number; createdAt: number; quality: Quality }[]>;
  keys: Keys;
  letters: Letters;
  sessions(filter: SessionFilter): Promise<SessionList>;
  batches(tenant?: string): Promise<BatchList>;
  /** Until the signal is aborted. Rejects with TooManyWatchers. */
  watch(take: (batch: LiveBatch) => void, signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

/** An act on a policy, an example or a request is impossible; the message says why. */
export class PolicyRefused extends Error {
  override name = "PolicyRefused";
}
export class TooManyWatchers extends Error {
  override name = "TooManyWatchers";
}
