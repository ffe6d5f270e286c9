// A consumer of kafkajs asks its broker anew as often as `maxWaitTimeInMs` says, whether anything
// comes or not: a process with fourteen consumers at 100 ms sends 140 requests a second while
// nothing happens. The broker answers at the first record however long it may wait, so a consumer
// that has been quiet lets it wait longer. Not much longer, and not at once: a fetch that is under
// way knows nothing of a partition that is resumed meanwhile, and whoever stops waits for it.
import { internals, type ConsumerGroupLike } from "./kafkajs-internals.ts";

/** So many fetches in turn without a record, a pause or a resume make a consumer quiet. */
const quietAfter = 10;
/** What the broker may wait for then. */
export const quietWaitMs = 500;

interface Patience {
  /** As configured. */
  waitMs: number;
  empty: number;
}

interface FetchedBatch {
  /** With control records and aborted ones. */
  rawMessages: unknown[];
}

const patienceOf = new WeakMap<ConsumerGroupLike, Patience>();

function patience(group: ConsumerGroupLike): Patience {
  let known = patienceOf.get(group);
  if (known === undefined) patienceOf.set(group, (known = { waitMs: group.maxWaitTime, empty: 0 }));
  return known;
}

/** Wraps ConsumerGroup.fetch; one that gathers bytes waits as it was told. */
const withPatience = (fetch: ConsumerGroupLike["fetch"]): ConsumerGroupLike["fetch"] =>
  async function fetchPatiently(this: ConsumerGroupLike, nodeId) {
    if (this.minBytes > 1) return fetch.call(this, nodeId);
    const state = patience(this);
    this.maxWaitTime = state.empty < quietAfter ? state.waitMs : Math.max(state.waitMs, quietWaitMs);
    const batches = (await fetch.call(this, nodeId)) as FetchedBatch[];
    state.empty = batches.some(({ rawMessages }) => rawMessages.length > 0) ? 0 : state.empty + 1;
    return batches;
  };

/** Wraps ConsumerGroup.pause and resume. */
const lively = <Arguments extends unknown[]>(act: (...given: Arguments) => void) =>
  function actAndLook(this: ConsumerGroupLike, ...given: Arguments): void {
    patience(this).empty = 0;
    act.apply(this, given);
  };

/** Idempotent within a process because the module is loaded once. */
export function patchPatience(): void {
  const { prototype } = internals.ConsumerGroup;
  prototype.fetch = withPatience(prototype.fetch);
  prototype.pause = lively(prototype.pause);
  prototype.resume = lively(prototype.resume);
}
