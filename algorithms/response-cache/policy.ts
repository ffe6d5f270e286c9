// Interface of response cache policies: metadata in, decisions out; the caller holds the answers.
// No clock, no random source: time is counted in requests.

/** Ids are of one type within a policy: it compares them where two entries are worth the same. */
export type Id = string | number;

export interface Arrival {
  hit: boolean;
  evicted: readonly Id[];
}

/** Whether an answer is kept, and which other entries leave. Not kept: nothing is under its id. */
export interface Admission {
  admitted: boolean;
  evicted: readonly Id[];
}

export interface CachePolicy {
  /** A request came. Counts for its popularity. */
  arrive(id: Id): Arrival;
  /** A miss was answered. size: bytes; cost: of the answer. RangeError unless both are > 0. */
  answered(id: Id, size: number, cost: number): Admission;
  /** An entry expired or must not be used any more. False: it was not held. */
  remove(id: Id): boolean;
  has(id: Id): boolean;
  used(): number;
  count(): number;
}

export type CreatePolicy = (capacity: number) => CachePolicy;

const NOTHING: readonly Id[] = [];
export const HIT: Arrival = { hit: true, evicted: NOTHING };
export const MISS: Arrival = { hit: false, evicted: NOTHING };
export const NOT_ADMITTED: Admission = { admitted: false, evicted: NOTHING };
export const ADMITTED: Admission = { admitted: true, evicted: NOTHING };

export function checkCapacity(capacity: number): void {
  if (!(capacity >= 0 && Number.isFinite(capacity)))
    throw new RangeError(`a cache of capacity ${capacity}: it must be finite and >= 0`);
}

export function checkAnswer(size: number, cost: number): void {
  if (!(size > 0 && Number.isFinite(size) && cost > 0 && Number.isFinite(cost)))
    throw new RangeError(`an answer of size ${size} and cost ${cost}: both must be finite and > 0`);
}
