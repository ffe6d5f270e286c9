// Maps ids to integers, so that facts about an id lie in columns of typed arrays. An integer is
// reused once its id is forgotten. Columns grow by doubling, and listeners are notified.
import type { Id } from "./policy.ts";

export type Slots = ReturnType<typeof createSlots>;

const leastLength = 256;

export function createSlots() {
  const byId = new Map<Id, number>();
  const ids: (Id | undefined)[] = [];
  const freed: number[] = [];
  const listeners: ((length: number) => void)[] = [];
  let length = leastLength;
  return {
    /** -1: unknown. */
    find: (id: Id): number => byId.get(id) ?? -1,
    /** A number for an id that has none. */
    add(id: Id): number {
      const slot = freed.pop() ?? ids.length;
      ids[slot] = id;
      byId.set(id, slot);
      if (slot >= length) {
        length *= 2;
        for (const grow of listeners) grow(length);
      }
      return slot;
    },
    free(slot: number): void {
      byId.delete(ids[slot]!);
      ids[slot] = undefined;
      freed.push(slot);
    },
    idOf: (slot: number): Id => ids[slot]!,
    count: (): number => byId.size,
    /** All numbers are below. */
    length: (): number => ids.length,
    onGrowth(grow: (length: number) => void): void {
      listeners.push(grow);
      grow(length);
    },
  };
}

export function longer<T extends Float64Array | Int32Array | Uint8Array>(values: T, length: number, filler = 0): T {
  const grown = new (values.constructor as new (length: number) => T)(length);
  if (filler !== 0) grown.fill(filler, values.length);
  grown.set(values);
  return grown;
}
