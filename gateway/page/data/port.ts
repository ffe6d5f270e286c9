// What the page may ask, and the answers as they travel: the gateway serves this interface, the
// browser knows its types. Nothing of it is SQL.
import type { Conversation } from "../../conversation.ts";

export type RequestState = "ok" | "failed" | "refused" | "open";

/** All of it optional; what is absent does not narrow. */
export interface RequestFilter {
  search?: string | undefined;
  tenant?: string | undefined;
  domain?: string | undefined;
  arm?: string | undefined;
  source?: string | undefined;
  state?: RequestState | undefined;
  /** Milliseconds since the epoch: from (by default an hour ago), and before. */
  from?: number | undefined;
  before?: number | undefined;
  limit?: number | undefined;
}

export interface RequestRow {
  id: string;
  tenant: string;
  domain: string;
  question: string;
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

/** Figures of an arm and a source in a step of time. */
export interface ArmStep {
  at: number;
  arm: string;
  source: string;
  requests: number;
  failed: number;
  rewarded: number;
  rewardSum: number;
  cost: number;
  savedCost: number;
  medianMs: number;
}

export interface Overview {
  from: number;
  until: number;
  stepMs: number;
  arms: ArmStep[];
  /** null where no price is known: the most expensive arm answered nothing in that month. */
  savings: { at: number; answers: number; cost: number; alwaysLarge: number | null; saved: number | null }[];
  prefill: { arm: string; prompt: number; linked: number; recomputed: number; prefilled: number }[];
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
  /** What always taking one arm would have earned. */
  arms: (Estimated & { arm: string })[];
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
  tables: { table: string; newest: number | null; lastHour: number }[];
  problems: string[];
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

export interface Dashboard {
  requests(filter: RequestFilter): Promise<RequestRow[]>;
  /** null: not recorded. */
  request(id: string, tenant: string): Promise<Conversation | null>;
  overview(from: number, until: number): Promise<Overview>;
  /** The newest of each policy; of one, all its versions. */
  policies(name?: string): Promise<PolicyVersion[]>;
  examples(search: string): Promise<ExampleRow[]>;
  uses(exampleId: string): Promise<ExampleUse[]>;
  values(): Promise<PolicyValues>;
  health(): Promise<Health>;
  /** Names for filters. */
  names(): Promise<{ arms: string[]; domains: string[]; tenants: string[] }>;
  /** Rejects with PolicyRefused when there is nothing to go back to. */
  revert(name: string, version: number): Promise<PolicyVersion>;
  resume(name: string): Promise<PolicyVersion>;
  /** Until the signal is aborted. Rejects with TooManyWatchers. */
  watch(take: (batch: LiveBatch) => void, signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

/** What was asked of a policy can't be done; its message says why. */
export class PolicyRefused extends Error {
  override name = "PolicyRefused";
}
export class TooManyWatchers extends Error {
  override name = "TooManyWatchers";
}
