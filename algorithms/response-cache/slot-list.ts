// Slots (slots.ts) in the order of last use. A Map that is deleted from and appended to all the
// time finds its first entry only past everything that was deleted.
import { longer, type Slots } from "./slots.ts";

const NONE = -1;
const OUTSIDE = -2;

export function createSlotList(slots: Slots) {
  let older = new Int32Array(0);
  let newer = new Int32Array(0);
  let [oldest, newest, count] = [NONE, NONE, 0];
  slots.onGrowth((length) => {
    older = longer(older, length, OUTSIDE);
    newer = longer(newer, length, OUTSIDE);
  });

  function remove(slot: number): void {
    const before = older[slot]!;
    if (before === OUTSIDE) return;
    const after = newer[slot]!;
    if (before === NONE) oldest = after;
    else newer[before] = after;
    if (after === NONE) newest = before;
    else older[after] = before;
    older[slot] = OUTSIDE;
    count--;
  }

  return {
    has: (slot: number): boolean => older[slot] !== OUTSIDE,
    touch(slot: number): void {
      if (slot === newest) return;
      remove(slot);
      older[slot] = newest;
      newer[slot] = NONE;
      if (newest === NONE) oldest = slot;
      else newer[newest] = slot;
      newest = slot;
      count++;
    },
    remove,
    /** -1: empty. */
    oldest: (): number => oldest,
    count: (): number => count,
  };
}
