// Cancelled requests for call (topic cancels): a call under way is ended, another not made, the
// response is failed, cancelled. Best effort.
import type { ArmFailure } from "../arms/arm.ts";
import type { Cancellation } from "../runtime/lazy-abort.ts";

export interface Cancellable {
  tenant: string;
  requestId: string;
  /** When the request came to the broker, ms: earlier cancels are of another. */
  arrivedAt: number;
}

export interface CancelWatch {
  /** Aborted by a cancel, and when the stage gives the call up. */
  readonly signal: AbortSignal;
  isCancelled(): boolean;
  end(): void;
}

/** `ends`: the stage gives the call up. */
export type WatchCancels = (call: Cancellable, ends: Cancellation) => CancelWatch;

/** attempts: calls that were made of the model. */
export const cancelledFailure = (attempts: number): ArmFailure => ({
  ...{ kind: "failure", code: "cancelled", attempts, retriable: false },
  message: "The client has cancelled the request, or closed its connection.",
});
