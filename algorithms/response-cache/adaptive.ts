// The default policy. An answer displaces entries of lower density (decayed popularity times mean
// cost, per byte) until it fits; if it does not fit, nothing changes. How fast popularity decays is
// learnt: shadow caches, which hold metadata alone, follow the same rule with one half-life each,
// and now and then the cache adopts the half-life of the shadow that lost least.
import { createContents, type Contents, type Held } from "./contents.ts";
import { createDecayingScale, type DecayingScale } from "./popularity.ts";
import {
  ADMITTED,
  checkAnswer,
  checkCapacity,
  HIT,
  MISS,
  NOT_ADMITTED,
  type Id,
  type ResizableCachePolicy,
} from "./policy.ts";
import { createRecencyList, type Linked } from "./recency.ts";

export interface AdaptiveOptions {
  /** Half-lives of popularity in multiples of the entries at the first eviction. */
  halfLives?: readonly number[];
  /** Ids outside the cache that are remembered, per entry inside. */
  outsidePerEntry?: number;
}

export interface Adaptive extends ResizableCachePolicy {
  /** The half-life in force, in requests. */
  halfLife(): number;
  /** Ids that something is known of. */
  known(): number;
}

/** An id in one of the caches. */
interface Place extends Held {
  query: Query;
}

interface Query extends Linked<Query> {
  id: Id;
  misses: number;
  costs: number;
  /** Decayed arrivals, by half-life. */
  popularity: Float64Array;
  live: Place;
  /** By half-life; empty where it is outside of the sample. */
  shadows: Place[];
  sampled: boolean;
}

interface Shadow {
  contents: Contents<Place>;
  loss: number;
}

const adoptEvery = 64;
const adoptBelow = 0.99;
const leastLossHalfLife = 200;
/** Above so many entries shadows run on every fourth id. */
const sampleAbove = 1_000;
const sampleEvery = 4;
/** Ids outside are remembered up to here, however few are inside. */
const leastOutside = 64;

export function createAdaptive(
  initial: number,
  { halfLives = [Infinity, 64, 16, 4], outsidePerEntry = 8 }: AdaptiveOptions = {},
): Adaptive {
  checkCapacity(initial);
  let capacity = initial;
  const queries = new Map<Id, Query>();
  /** Not held, least recently asked for first. */
  const outside = createRecencyList<Query>();
  const live = createContents<Place>(capacity);
  const counts = halfLives.length;
  let scale: DecayingScale = createDecayingScale(halfLives.map(() => Infinity));
  /** None before the first eviction: until then all would hold the same. */
  let shadows: Shadow[] = [];
  let halfLivesNow = halfLives.map(() => Infinity);
  let lossDecay = 1;
  let own = 0;
  let now = 0;
  let serial = 0;
  let every = 1;

  const density = ({ popularity, misses, costs }: Query, by: number, size: number): number =>
    (popularity[by]! * costs) / (misses * size);

  function queryOf(id: Id): Query {
    const found = queries.get(id);
    if (found !== undefined) return found;
    const sampled = serial++ % every === 0;
    const query: Query = {
      ...{ id, misses: 0, costs: 0, popularity: new Float64Array(counts), shadows: [], sampled },
      ...{ older: null, newer: null, listed: false },
      live: undefined as unknown as Place,
    };
    query.live = placeOf(query);
    if (sampled && shadows.length > 0) query.shadows = halfLives.map(() => placeOf(query));
    queries.set(id, query);
    return query;
  }

  function leaveShadows({ shadows: places }: Query): void {
    for (let i = 0; i < places.length; i++) if (places[i]!.at >= 0) shadows[i]!.contents.remove(places[i]!);
  }

  /** Forgets whom nobody asked for longest. */
  function bound(): void {
    const most = Math.max(leastOutside, outsidePerEntry * live.heap.nodes().length);
    while (outside.size() > most) {
      const query = outside.oldest()!;
      outside.remove(query);
      queries.delete(query.id);
      leaveShadows(query);
    }
  }

  /** At the first eviction: shadows begin as copies of the cache. */
  function startShadows(entries: number): void {
    halfLivesNow = halfLives.map((multiple) => multiple * entries);
    scale = createDecayingScale(halfLivesNow);
    lossDecay = 2 ** (-1 / Math.max(leastLossHalfLife, 8 * entries));
    every = entries > sampleAbove ? sampleEvery : 1;
    shadows = halfLives.map(() => ({ contents: createContents<Place>(capacity / every), loss: 0 }));
    for (const query of queries.values()) {
      query.sampled = serial++ % every === 0;
      if (!query.sampled) continue;
      query.shadows = halfLives.map(() => placeOf(query));
      if (query.live.at < 0) continue;
      for (const [i, place] of query.shadows.entries()) {
        place.size = query.live.size;
        shadows[i]!.contents.admit(place, density(query, i, place.size));
      }
    }
  }

  function adopt(): void {
    let best = own;
    for (const [i, { loss }] of shadows.entries()) if (loss < shadows[best]!.loss) best = i;
    if (!(shadows[best]!.loss < adoptBelow * shadows[own]!.loss)) return;
    own = best;
    live.heap.rekey(({ query, size }) => density(query, own, size));
  }

  /** What the request would have cost each shadow. */
  function charge(query: Query, cost: number): void {
    for (let i = 0; i < query.shadows.length; i++) {
      const place = query.shadows[i]!;
      if (place.at >= 0) continue;
      const shadow = shadows[i]!;
      shadow.loss += cost;
      place.size = query.live.size;
      shadow.contents.admit(place, density(query, i, place.size));
    }
  }

  function scaleDown(factors: Float64Array): void {
    for (const { popularity } of queries.values()) for (let i = 0; i < counts; i++) popularity[i]! *= factors[i]!;
    live.heap.rekey(({ key }) => key * factors[own]!);
    for (const [i, { contents }] of shadows.entries()) contents.heap.rekey(({ key }) => key * factors[i]!);
  }

  /** What is known of an entry changed. */
  function rekey(query: Query): void {
    if (query.live.at >= 0) live.heap.update(query.live, density(query, own, query.live.size));
    for (let i = 0; i < query.shadows.length; i++) {
      const place = query.shadows[i]!;
      if (place.at >= 0) shadows[i]!.contents.heap.update(place, density(query, i, place.size));
    }
  }

  return {
    arrive(id) {
      if (now++ % adoptEvery === 0 && shadows.length > 0) adopt();
      const factors = scale.next();
      if (factors !== null) scaleDown(factors);
      for (const shadow of shadows) shadow.loss *= lossDecay;
      const query = queryOf(id);
      for (let i = 0; i < counts; i++) query.popularity[i]! += scale.weights[i]!;
      rekey(query);
      if (query.live.at < 0) {
        outside.touch(query);
        bound();
        return MISS;
      }
      charge(query, query.costs / query.misses);
      return HIT;
    },
    answered(id, size, cost) {
      checkAnswer(size, cost);
      const query = queryOf(id);
      const { live: place } = query;
      query.misses++;
      query.costs += cost;
      let left = false;
      if (place.at >= 0) left = live.resize(place, size);
      else place.size = size;
      for (const [i, one] of query.shadows.entries()) if (one.at >= 0) shadows[i]!.contents.resize(one, size);
      rekey(query);
      if (left) {
        outside.touch(query);
        charge(query, cost);
        return { admitted: false, evicted: [id] };
      }
      if (place.at >= 0) return ADMITTED;
      const entries = live.heap.nodes().length;
      const victims = live.admit(place, density(query, own, size));
      if (victims !== null && victims.length > 0 && shadows.length === 0) startShadows(entries);
      charge(query, cost);
      if (victims === null) {
        outside.touch(query);
        bound();
        return NOT_ADMITTED;
      }
      outside.remove(query);
      for (const victim of victims) outside.touch(victim.query);
      bound();
      return victims.length === 0 ? ADMITTED : { admitted: true, evicted: victims.map((victim) => victim.id) };
    },
    remove(id) {
      const query = queries.get(id);
      if (query === undefined) return false;
      leaveShadows(query);
      if (query.live.at < 0) return false;
      live.remove(query.live);
      outside.touch(query);
      bound();
      return true;
    },
    resize(bytes) {
      checkCapacity(bytes);
      capacity = bytes;
      const entries = live.heap.nodes().length;
      const victims = live.setCapacity(capacity);
      if (victims.length > 0 && shadows.length === 0) startShadows(entries);
      for (const { contents } of shadows) contents.setCapacity(capacity / every);
      for (const { query } of victims) outside.touch(query);
      bound();
      return victims.map(({ id }) => id);
    },
    has: (id) => (queries.get(id)?.live.at ?? -1) >= 0,
    used: live.used,
    count: () => live.heap.nodes().length,
    halfLife: () => halfLivesNow[own]!,
    known: () => queries.size,
  };
}

const placeOf = (query: Query): Place => ({ id: query.id, query, key: 0, at: -1, size: 0 });
