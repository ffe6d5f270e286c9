// How many things each owner holds at a time, for bounds by tenant.

export interface HeldCounts {
  of(owner: string): number;
  /** The sum over all owners. */
  total(): number;
  /** Counts one more until the returned function is called; later calls of it do nothing. */
  take(owner: string): () => void;
}

export function createHeldCounts(): HeldCounts {
  const held = new Map<string, number>();
  let total = 0;
  const of = (owner: string): number => held.get(owner) ?? 0;
  return {
    of,
    total: () => total,
    take(owner) {
      held.set(owner, of(owner) + 1);
      total++;
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        total--;
        const left = of(owner) - 1;
        if (left === 0) held.delete(owner);
        else held.set(owner, left);
      };
    },
  };
}
