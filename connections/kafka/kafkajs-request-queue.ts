// A connection of kafkajs 2.2.4 that has had one answer looks every millisecond, for ever, whether
// a request waits to be sent: a timer that finds nothing sets the next one. With the thirty to
// forty connections of a process that is a third of what it costs while nothing happens. Here only
// a connection with waiting requests looks again; answers and new requests look anyway.
import { internals, type RequestQueueLike } from "./kafkajs-internals.ts";

/** Idempotent within a process because the module is loaded once. */
export function patchRequestQueue(): void {
  const { prototype } = internals.RequestQueue;
  const schedule = prototype.scheduleCheckPendingRequests;
  prototype.scheduleCheckPendingRequests = function scheduleIfWaiting(this: RequestQueueLike): void {
    if (this.pending.length > 0) schedule.call(this);
  };
}
