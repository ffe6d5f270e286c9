// How many things each owner holds at a time, for bounds by tenant. Owners without any take no
// memory.

export interface HeldCounts {
  of(owner: string): number;
  /** Counts one more until the returned function is called; later calls of it do nothing. */
  take(owner: string): () => void;
}

export function createHeldCounts(): HeldCounts {
  const held = new Map<string, number>();
  const of = (owner: string): number => held.get(owner) ?? 0;
  return {
    of,
    take(owner) {
      held.set(owner, of(owner) + 1);
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        const left = of(owner) - 1;
        if (left === 0) held.delete(owner);
        else held.set(owner, left);
      };
    },
  };
}
