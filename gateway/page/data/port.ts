// What the page may ask, and the answers as they travel: the gateway serves this interface, the
// browser knows its types. Nothing of it is SQL.
import type { BatchList } from "./batches.ts";
import type { Keys } from "./keys.ts";
import type { Letters } from "./letters.ts";
import type { Names } from "./names.ts";
import type { OwnerKind, OwnerList } from "./owners.ts";
import type { PolicyChange } from "./policy-change.ts";
import type { SessionFilter, SessionList } from "./sessions.ts";
import type { WholeRequest, AskingAgain, AskedAgain } from "./types/asking.ts";
import type { ExampleList, ExampleFilter, WholeExample } from "./types/examples.ts";
import type { Health } from "./types/health.ts";
import type { OverviewFilter, Quality, Overview } from "./types/overview.ts";
import type { PolicyVersion, PolicyValues, ExperimentVariant } from "./types/policies.ts";
import type { RequestFilter, RequestList, LiveBatch } from "./types/requests.ts";

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
