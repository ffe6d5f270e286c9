// Binary heap of slots (slots.ts) with changing keys and removal from the middle, without
// allocation. Least key first, then least id.
import { longer, type Slots } from "./slots.ts";

export function createSlotHeap(slots: Slots) {
  let count = 0;
  let nodes = new Int32Array(0);
  let keys = new Float64Array(0);
  /** By slot: its position; -1: outside. */
  let positions = new Int32Array(0);
  slots.onGrowth((length) => {
    nodes = longer(nodes, length);
    keys = longer(keys, length);
    positions = longer(positions, length, -1);
  });

  const put = (slot: number, key: number, at: number): void => {
    nodes[at] = slot;
    keys[at] = key;
    positions[slot] = at;
  };
  const before = (key: number, slot: number, at: number): boolean =>
    key < keys[at]! || (key === keys[at]! && slots.idOf(slot) < slots.idOf(nodes[at]!));

  function up(slot: number, key: number, from: number): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!before(key, slot, parent)) break;
      put(nodes[parent]!, keys[parent]!, at);
      at = parent;
    }
    put(slot, key, at);
  }

  function down(slot: number, key: number, from: number): void {
    let at = from;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= count) break;
      if (child + 1 < count && before(keys[child + 1]!, nodes[child + 1]!, child)) child++;
      if (before(key, slot, child)) break;
      put(nodes[child]!, keys[child]!, at);
      at = child;
    }
    put(slot, key, at);
  }

  const settle = (slot: number, key: number, at: number): void =>
    at > 0 && before(key, slot, (at - 1) >> 1) ? up(slot, key, at) : down(slot, key, at);

  return {
    has: (slot: number): boolean => positions[slot]! >= 0,
    push: (slot: number, key: number): void => up(slot, key, count++),
    update: (slot: number, key: number): void => settle(slot, key, positions[slot]!),
    remove(slot: number): void {
      const at = positions[slot]!;
      positions[slot] = -1;
      const last = --count;
      if (at < last) settle(nodes[last]!, keys[last]!, at);
    },
    /** -1: empty. */
    first: (): number => (count > 0 ? nodes[0]! : -1),
    leastKey: (): number => keys[0]!,
    count: (): number => count,
    rekey(keyOf: (slot: number) => number): void {
      for (let at = 0; at < count; at++) keys[at] = keyOf(nodes[at]!);
      for (let at = (count >> 1) - 1; at >= 0; at--) down(nodes[at]!, keys[at]!, at);
    },
  };
}
