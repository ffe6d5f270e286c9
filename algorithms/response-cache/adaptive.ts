// The response cache's policy: an answer displaces entries of lower density (decayed popularity x
// mean cost per byte) or is not kept. Shadow caches of metadata try rules (half-lives, a window);
// the cache adopts the one that loses least. Requests allocate nothing.
import { createDensityCache, type DensityCache, type Known, type Rule } from "./density-cache.ts";
import { createDecayingScale, type DecayingScale } from "./popularity.ts";
import { ADMITTED, checkAnswer, checkCapacity, HIT, MISS, NOT_ADMITTED, type CachePolicy, type Id } from "./policy.ts";
import { createSlotList } from "./slot-list.ts";
import { createSlots, longer } from "./slots.ts";

export interface AdaptiveOptions {
  /** Half-lives of popularity in multiples of the entries at the first eviction. */
  halfLives?: readonly number[];
  /** The share of the capacity that new answers may get for themselves; 0: no window is tried. */
  windowShare?: number;
  /** Ids outside the cache that are remembered, per entry inside. */
  outsidePerEntry?: number;
}

export interface Adaptive extends CachePolicy {
  halfLife(): number;
  /** The share of the capacity that new answers have for themselves now. */
  window(): number;
  known(): number;
}

const adoptEvery = 64;
const adoptBelow = 0.99;
const leastLossHalfLife = 200;
/** Above this many entries shadows run on every fourth id. */
const sampleAbove = 1_000;
const sampleEvery = 4;
/** Ids outside are remembered up to here, however few are inside. */
const leastOutside = 64;
/** Where losses are scaled down. */
const largeLoss = 1e100;

export function createAdaptive(
  capacity: number,
  { halfLives = [Infinity, 20, 6], windowShare = 0.05, outsidePerEntry = 8 }: AdaptiveOptions = {},
): Adaptive {
  checkCapacity(capacity);
  const counts = halfLives.length;
  const rules = rulesOf(counts, windowShare);
  const slots = createSlots();
  const known: Known = {
    ...{ sizes: new Float64Array(0), values: new Float64Array(0), popularity: new Float64Array(0) },
    halfLives: counts,
  };
  let misses = new Float64Array(0);
  let costs = new Float64Array(0);
  let sampled = new Uint8Array(0);
  slots.onGrowth((length) => {
    known.sizes = longer(known.sizes, length);
    known.values = longer(known.values, length);
    known.popularity = longer(known.popularity, length * counts);
    misses = longer(misses, length);
    costs = longer(costs, length);
    sampled = longer(sampled, length);
  });
  /** Not held, least recently asked for first. */
  const outside = createSlotList(slots);
  const live = createDensityCache(slots, known, capacity, rules[0]!);
  let scale: DecayingScale = createDecayingScale(halfLives.map(() => Infinity));
  /** None before the first eviction: until then all would hold the same. */
  let shadows: DensityCache[] = [];
  const losses = new Float64Array(rules.length);
  /** What a loss weighs now; former ones decay because later ones weigh more. */
  let lossWeight = 1;
  let lossGrowth = 1;
  let halfLivesNow = halfLives.map(() => Infinity);
  let own = 0;
  let now = 0;
  let serial = 0;
  let every = 1;

  function slotOf(id: Id): number {
    const found = slots.find(id);
    if (found >= 0) return found;
    const slot = slots.add(id);
    misses[slot] = costs[slot] = known.values[slot] = known.sizes[slot] = 0;
    known.popularity.fill(0, slot * counts, (slot + 1) * counts);
    sampled[slot] = serial++ % every === 0 ? 1 : 0;
    return slot;
  }

  function leaveShadows(slot: number): void {
    for (const shadow of shadows) if (shadow.has(slot)) shadow.remove(slot);
  }

  function bound(): void {
    const most = Math.max(leastOutside, outsidePerEntry * live.count());
    while (outside.count() > most) {
      const slot = outside.oldest();
      outside.remove(slot);
      leaveShadows(slot);
      slots.free(slot);
    }
  }

  function startShadows(entries: number): void {
    halfLivesNow = halfLives.map((multiple) => multiple * entries);
    scale = createDecayingScale(halfLivesNow);
    lossGrowth = 2 ** (1 / Math.max(leastLossHalfLife, 8 * entries));
    every = entries > sampleAbove ? sampleEvery : 1;
    shadows = rules.map((rule) => createDensityCache(slots, known, capacity / every, rule));
    for (let slot = 0; slot < slots.length(); slot++) {
      sampled[slot] = serial++ % every === 0 ? 1 : 0;
      if (sampled[slot] === 1 && live.has(slot)) for (const shadow of shadows) shadow.admit(slot);
    }
  }

  function adopt(): void {
    let best = own;
    for (let i = 0; i < losses.length; i++) if (losses[i]! < losses[best]!) best = i;
    if (!(losses[best]! < adoptBelow * losses[own]!)) return;
    own = best;
    live.setRule(rules[own]!);
  }

  /** What the request would have cost each shadow. */
  function charge(slot: number, cost: number): void {
    if (sampled[slot] === 0) return;
    for (let i = 0; i < shadows.length; i++) {
      if (shadows[i]!.has(slot)) continue;
      losses[i]! += cost * lossWeight;
      shadows[i]!.admit(slot);
    }
  }

  function scaleDown(factors: Float64Array): void {
    const { popularity } = known;
    for (let i = 0; i < popularity.length; i++) popularity[i]! *= factors[i % counts]!;
    live.rekey();
    for (const shadow of shadows) shadow.rekey();
  }

  function growLossWeight(): void {
    lossWeight *= lossGrowth;
    if (lossWeight < largeLoss) return;
    for (let i = 0; i < losses.length; i++) losses[i]! /= lossWeight;
    lossWeight = 1;
  }

  function changed(slot: number, asked: boolean): void {
    if (live.has(slot)) live.changed(slot, asked);
    if (sampled[slot] === 0) return;
    for (const shadow of shadows) if (shadow.has(slot)) shadow.changed(slot, asked);
  }

  function leave(): Id[] {
    const ids: Id[] = [];
    for (const victim of live.victims) {
      outside.touch(victim);
      ids.push(slots.idOf(victim));
    }
    bound();
    return ids;
  }

  return {
    arrive(id) {
      if (now++ % adoptEvery === 0 && shadows.length > 0) adopt();
      const factors = scale.next();
      if (factors !== null) scaleDown(factors);
      growLossWeight();
      const slot = slotOf(id);
      for (let i = 0; i < counts; i++) known.popularity[slot * counts + i]! += scale.weights[i]!;
      changed(slot, true);
      if (!live.has(slot)) {
        outside.touch(slot);
        bound();
        return MISS;
      }
      charge(slot, costs[slot]! / misses[slot]!);
      return HIT;
    },
    answered(id, size, cost) {
      checkAnswer(size, cost);
      const slot = slotOf(id);
      misses[slot]!++;
      costs[slot]! += cost;
      const held = live.has(slot);
      const by = size - known.sizes[slot]!;
      const left = held && live.resize(slot, by);
      for (const shadow of shadows) if (shadow.has(slot)) shadow.resize(slot, by);
      known.sizes[slot] = size;
      known.values[slot] = costs[slot]! / (misses[slot]! * size);
      changed(slot, false);
      if (held) {
        if (!left) return ADMITTED;
        outside.touch(slot);
        charge(slot, cost);
        return { admitted: false, evicted: [id] };
      }
      const entries = live.count();
      const admitted = live.admit(slot);
      if (live.victims.length > 0 && shadows.length === 0) startShadows(entries);
      charge(slot, cost);
      if (admitted) outside.remove(slot);
      else outside.touch(slot);
      if (live.victims.length > 0) return { admitted, evicted: leave() };
      bound();
      return admitted ? ADMITTED : NOT_ADMITTED;
    },
    remove(id) {
      const slot = slots.find(id);
      if (slot < 0) return false;
      leaveShadows(slot);
      if (!live.has(slot)) return false;
      live.remove(slot);
      outside.touch(slot);
      bound();
      return true;
    },
    has(id) {
      const slot = slots.find(id);
      return slot >= 0 && live.has(slot);
    },
    used: live.used,
    count: live.count,
    halfLife: () => halfLivesNow[rules[own]!.halfLife]!,
    window: () => rules[own]!.window,
    known: slots.count,
  };
}

/** Every half-life without a window, and the first one with it. */
const rulesOf = (halfLives: number, windowShare: number): Rule[] => [
  ...Array.from({ length: halfLives }, (_, halfLife) => ({ halfLife, window: 0 })),
  ...(windowShare > 0 ? [{ halfLife: 0, window: windowShare }] : []),
];
