// Bounds the memory of a policy that remembers every id. When it knows too many, a new policy takes
// its place, which starts from the held entries. Facts about the ids outside are lost then.
import type { Admission, Arrival, CreatePolicy, Id, ResizableCachePolicy } from "./policy.ts";

interface Held {
  size: number;
  cost: number;
}

/** outsidePerEntry: ids known at most, for each that is held; never fewer than `least`. */
export function createBounded(
  create: CreatePolicy,
  initial: number,
  { outsidePerEntry = 2, least = 4_096 } = {},
): ResizableCachePolicy & { known(): number } {
  let capacity = initial;
  let policy = create(capacity);
  const known = new Set<Id>();
  const held = new Map<Id, Held>();

  const leave = (evicted: readonly Id[]): void => {
    for (const id of evicted) held.delete(id);
  };

  /** Returns the entries that did not fit in the next policy. */
  function renew(): Id[] {
    policy = create(capacity);
    known.clear();
    const lost: Id[] = [];
    for (const [id, { size, cost }] of [...held]) {
      known.add(id);
      lost.push(...policy.arrive(id).evicted);
      const { admitted, evicted } = policy.answered(id, size, cost);
      lost.push(...evicted, ...(admitted ? [] : [id]));
    }
    leave(lost);
    return lost;
  }

  /** Frees a slot for one more id, if needed. */
  function know(id: Id): readonly Id[] {
    const full = !known.has(id) && known.size >= Math.max(least, (1 + outsidePerEntry) * held.size);
    const lost = full ? renew() : [];
    known.add(id);
    return lost;
  }

  return {
    arrive(id): Arrival {
      const lost = know(id);
      const { hit, evicted } = policy.arrive(id);
      leave(evicted);
      return { hit, evicted: [...lost, ...evicted] };
    },
    answered(id, size, cost): Admission {
      const lost = know(id);
      const { admitted, evicted } = policy.answered(id, size, cost);
      leave(evicted);
      if (admitted && policy.has(id)) held.set(id, { size, cost });
      else held.delete(id);
      return { admitted, evicted: [...lost, ...evicted] };
    },
    remove(id) {
      held.delete(id);
      return policy.remove(id);
    },
    resize(bytes) {
      capacity = bytes;
      return renew();
    },
    has: (id) => policy.has(id),
    used: () => policy.used(),
    count: () => policy.count(),
    known: () => known.size,
  };
}
