// What the list of requests is asked for, and its rows; live ones come from the topics.

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
  /** Failure code. */
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

/** A live row, read from the topics; it has no texts. */
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
