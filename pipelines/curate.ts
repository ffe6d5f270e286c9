// curate: answers that proved good become examples, what is expired or worth too little leaves, and what stays lies where it is asked for. One process of many (runtime/singleton.ts) does it,
// again and again (runtime/repeat.ts). Changes are published together, then what was decided is written down, then the cursor moves: a pass that breaks
// off anywhere is done again, and finds as examples what it had published already.
import type { Admission } from "../operators/admit/admit.ts";
import type { ExampleChange } from "../operators/example-change.ts";
import type { Candidate, CandidateBatch, Cursor } from "../operators/admit/candidates.ts";
import type { Decided } from "../operators/admit/decide.ts";
import type { Eviction } from "../operators/evict/evict.ts";
import type { Placed } from "../operators/place/place.ts";
import type { StageDescription } from "../runtime/declaration.ts";

export interface CurateDependencies {
  candidates: () => Promise<CandidateBatch>;
  /** Decides on one batch; what fails is left for later and holds no other up. */
  decide: (candidates: readonly Candidate[]) => Promise<Decided>;
  evict: () => Promise<Eviction[]>;
  /** After everything else of a pass, so that what it has published is on its way. */
  place: () => Promise<Placed>;
  /** All changes or none; they are the pool's when it resolves. */
  publish: (changes: readonly ExampleChange[]) => Promise<void>;
  /** Writes decisions and cursors down. */
  remember: (
    decided: readonly { candidate: Candidate; admission: Admission }[],
    cursors: readonly Cursor[],
  ) => Promise<void>;
  /** Milliseconds between two evictions. */
  evictEveryMs: number;
  /** Milliseconds that do not go back. */
  now: () => number;
  observe: (operator: string, milliseconds: number) => void;
  signal: AbortSignal;
}

export interface CurateReport {
  decided: readonly Admission[];
  evicted: readonly Eviction[];
  placed: Placed;
  more: boolean;
}

const declaration = {
  name: "curate",
  sources: ["ClickHouse"],
  // The pool; which domain lies where.
  tables: ["examples", "policies"],
  outputs: ["examples", "policies", "ClickHouse"],
  operators: ["admit", "evict", "place"],
} as const satisfies StageDescription;

export const curate = {
  ...declaration,
  /** The function that does one pass. */
  bind({
    candidates,
    decide,
    evict,
    place,
    publish,
    remember,
    evictEveryMs,
    now,
    observe,
    signal,
  }: CurateDependencies): () => Promise<CurateReport> {
    let evictedAt = -Infinity;
    const timed = async <T>(operator: string, work: () => Promise<T>): Promise<T> => {
      const began = now();
      const result = await work();
      observe(operator, now() - began);
      return result;
    };
    return async () => {
      const { candidates: found, cursors, more } = await candidates();
      signal.throwIfAborted();
      const { decided, waiting } = await timed("admit", () => decide(found));
      const changes = decided.flatMap(({ admission }) => admission.changes);
      if (changes.length > 0) await publish(changes);
      // What waits must be read again: the cursor stays before it.
      await remember(decided, waiting > 0 ? [] : cursors);
      let evicted: Eviction[] = [];
      if (now() - evictedAt >= evictEveryMs) {
        evicted = await timed("evict", evict);
        if (evicted.length > 0) await publish(evicted);
        evictedAt = now();
      }
      const placed = await timed("place", place);
      return {
        decided: decided.map(({ admission }) => admission),
        evicted,
        placed,
        more: (more && waiting === 0) || placed.more,
      };
    };
  },
} as const;
