// Rows of the list of requests; live ones come from the topics.

export type RequestState = "ok" | "failed" | "refused" | "open";

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
  cost: number;
  promptTokens: number;
  completionTokens: number;
  firstTokenMs: number | null;
  totalMs: number | null;
  reward: number | null;
  errorCode: string | null;
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
