// What a cache holds, ordered by what its entries are worth, and the rule that admits by worth: an
// answer displaces the entries of least worth, only those worth strictly less, until it fits; if it
// does not fit, nothing changes.
import { createHeap, type Heap, type HeapNode } from "./heap.ts";

export interface Held extends HeapNode {
  size: number;
}

export interface Contents<N extends Held> {
  readonly heap: Heap<N>;
  used(): number;
  /** The evicted entries; null: the answer is rejected, and no entry is evicted. */
  admit(node: N, worth: number, mostVictims?: number): readonly N[] | null;
  /** Displaces the entries of least worth, whatever they are worth. Null: larger than the cache. */
  force(node: N, worth: number): readonly N[] | null;
  remove(node: N): void;
}

const NONE: readonly never[] = [];

export function createContents<N extends Held>(capacity: number): Contents<N> {
  const heap = createHeap<N>();
  let used = 0;
  const take = (node: N): void => {
    heap.remove(node);
    used -= node.size;
  };
  const put = (node: N, worth: number): void => {
    heap.push(node, worth);
    used += node.size;
  };
  return {
    heap,
    used: () => used,
    admit(node, worth, mostVictims = Infinity) {
      const { size } = node;
      if (size > capacity) return null;
      if (used + size <= capacity) {
        put(node, worth);
        return NONE;
      }
      const victims: N[] = [];
      for (let next = heap.first(); next !== undefined && used + size > capacity; next = heap.first()) {
        if (victims.length === mostVictims || !(next.key < worth)) break;
        take(next);
        victims.push(next);
      }
      if (used + size > capacity) {
        for (const victim of victims) put(victim, victim.key);
        return null;
      }
      put(node, worth);
      return victims;
    },
    force(node, worth) {
      const { size } = node;
      if (size > capacity) return null;
      const victims: N[] = [];
      while (used + size > capacity) {
        const next = heap.first()!;
        take(next);
        victims.push(next);
      }
      put(node, worth);
      return victims;
    },
    remove: take,
  };
}
