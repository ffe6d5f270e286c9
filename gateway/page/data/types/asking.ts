// A request whole, and asking it again.
import type { Prices } from "../../../../config/price-bands.ts";
import type { Conversation } from "../../../conversation.ts";

/** A whole request, current prices per million tokens of its arm, and arms to ask again. */
export type WholeRequest = Conversation & { prices: Prices | null; askable: string[] };

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
