// After its first response, a connection of kafkajs 2.2.4 polls every millisecond whether a request
// waits to be sent: a timer that finds nothing sets the next one. With the thirty to forty
// connections of a process that is a third of its idle CPU. Here only a connection with waiting
// requests polls; responses and new requests check anyway.
import { internals, type RequestQueueLike } from "./kafkajs-internals.ts";

export function patchRequestQueue(): void {
  const { prototype } = internals.RequestQueue;
  const schedule = prototype.scheduleCheckPendingRequests;
  prototype.scheduleCheckPendingRequests = function scheduleIfWaiting(this: RequestQueueLike): void {
    if (this.pending.length > 0) schedule.call(this);
  };
}
