// A simulated pool of examples as curate keeps it: offload credit that fades by the hour, quality
// as a prior that fades likewise, and eviction for room by a policy, which leaves examples in their
// hour of grace alone. Nothing here asks a clock; hours are passed in.
import { creditRetention } from "../../operators/evict/evict.ts";

export interface Candidate {
  bytes: number;
  /** As curate values it: faded credit, and quality as a prior that fades likewise. */
  value: number;
  /** Requests, since it came. */
  lastUse: number;
  uses: number;
}

/** What an example is without what happens to it. */
export interface Item {
  bytes: number;
  /** Its own, [0.5, 1]: the prior, and how often a use of it succeeds. */
  quality: number;
}

/** One choice: of the candidates those at the indexes `stays` do. */
export interface Choice {
  candidates: Candidate[];
  capacity: number;
  stays: ReadonlySet<number>;
}

export interface SimulatedPool {
  has(item: number): boolean;
  bytes(): number;
  /** A request came, whatever it found: the age of a use is counted in them. */
  arrive(): void;
  admit(item: number, hour: number): void;
  /** credit: its share of an offload, 0 if it failed. Only for held items. */
  use(item: number, credit: number): void;
  /** Evicts where it weighs more than the budget, and lets credit fade. Returns who left. */
  endHour(hour: number, budget: number): number[];
}

export interface SimulatedPoolOptions {
  items: readonly Item[];
  /** Indexes of those that stay. */
  choose: (candidates: readonly Candidate[], capacity: number) => readonly number[];
  onChoice?: (choice: Choice) => void;
}

interface Held extends Candidate {
  item: number;
  cameAt: number;
  credit: number;
}

/** As curate has it: a little more room than is missing, and an hour of grace. */
const fillTo = 0.95;
export const graceHours = 1;

export function createSimulatedPool({ items, choose, onChoice }: SimulatedPoolOptions): SimulatedPool {
  const held = new Map<number, Held>();
  let bytes = 0;
  let requests = 0;

  function evict(hour: number, budget: number): number[] {
    if (bytes <= budget) return [];
    for (const one of held.values())
      one.value = one.credit + items[one.item]!.quality * creditRetention ** (hour - one.cameAt);
    const old = [...held.values()].filter(({ cameAt }) => hour - cameAt >= graceHours);
    const oldBytes = old.reduce((sum, one) => sum + one.bytes, 0);
    const capacity = Math.max(0, Math.floor(budget * fillTo - (bytes - oldBytes)));
    const stays = new Set(choose(old, capacity));
    onChoice?.({ candidates: old, capacity, stays });
    const gone = old.filter((_, index) => !stays.has(index));
    for (const one of gone) {
      held.delete(one.item);
      bytes -= one.bytes;
    }
    return gone.map(({ item }) => item);
  }

  return {
    has: (item) => held.has(item),
    bytes: () => bytes,
    arrive() {
      requests++;
    },
    admit(item, hour) {
      const { bytes: weight, quality } = items[item]!;
      held.set(item, { item, bytes: weight, value: quality, lastUse: requests, uses: 0, cameAt: hour, credit: 0 });
      bytes += weight;
    },
    use(item, credit) {
      const one = held.get(item)!;
      one.uses++;
      one.lastUse = requests;
      one.credit += credit;
    },
    endHour(hour, budget) {
      const gone = evict(hour, budget);
      for (const one of held.values()) one.credit *= creditRetention;
      return gone;
    },
  };
}
