// How many things each owner holds at a time, for bounds by tenant.

export function createHeldCounts() {
  const held = new Map<string, number>();
  let total = 0;
  const of = (owner: string): number => held.get(owner) ?? 0;
  return {
    of,
    /** The sum over all owners. */
    total: (): number => total,
    /** Counts one more until the returned function is called; later calls of it do nothing. */
    take(owner: string): () => void {
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
