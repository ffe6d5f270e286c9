// What the page's routes read and act on. Statements are fixed, with parameters and limited rows.
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import type { Prices } from "../../../config/price-bands.ts";
import type { Policies } from "../../../state/policies/append.ts";
import type { StoredBatch } from "../../batches/table.ts";
import type { Conversation } from "../../conversation.ts";
import type { AskingAgain } from "./filters.ts";
import type { HealthDependencies } from "./health.ts";
import type { Keys } from "./keys.ts";
import type { Letters } from "./letters.ts";
import type { Live } from "./live.ts";
import type { AskedAgain } from "./types/asking.ts";

export interface Dashboard {
  /** Reads only, with a time limit. */
  clickhouse: Pick<ClickHouse, "query">;
  policies: Policies;
  health: Omit<HealthDependencies, "clickhouse">;
  live: Live;
  /** Prices of an arm for a prompt of so many tokens, at a time; null: it is not configured. */
  prices: (arm: string, at: number, promptTokens: number) => Prices | null;
  /** Arms that may be called again with a request. */
  armsFor: (request: Conversation["request"]) => string[];
  /** Rejects with PolicyRefused when it can't be asked; the signal ends the call. */
  askAgain: (asking: AskingAgain, signal: AbortSignal) => Promise<AskedAgain>;
  /** The id is the example's. Each may reject with PolicyRefused. */
  exampleActs: {
    keep(requestId: string, tenant: string): Promise<{ id: string }>;
    edit(edited: { id: string; request: string; response: string }): Promise<{ id: string }>;
    remove(id: string): Promise<{ id: string }>;
  };
  keys: Keys;
  letters: Letters;
  /** Those of all tenants. */
  batches: () => readonly StoredBatch[];
}

/** An act on a policy, an example or a request is impossible; the message says why. */
export class PolicyRefused extends Error {
  override name = "PolicyRefused";
}
