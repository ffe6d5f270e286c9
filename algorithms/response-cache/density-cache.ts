// What one cache of the adaptive policy holds: by density, and in a window by recency. An answer
// displaces strictly lower densities until it fits; with a window it competes on leaving it.
import { createSlotHeap } from "./slot-heap.ts";
import { createSlotList } from "./slot-list.ts";
import type { Slots } from "./slots.ts";

export interface Known {
  /** Bytes, by slot. */
  sizes: Float64Array;
  /** Mean cost per byte, by slot. */
  values: Float64Array;
  /** Decayed arrivals, by slot and half-life. */
  popularity: Float64Array;
  halfLives: number;
}

export interface Rule {
  halfLife: number;
  /** Share of the capacity that the window has at most. */
  window: number;
}

export type DensityCache = ReturnType<typeof createDensityCache>;

export function createDensityCache(slots: Slots, known: Known, capacity: number, first: Rule) {
  const heap = createSlotHeap(slots);
  const window = createSlotList(slots);
  const victims: number[] = [];
  let rule = first;
  let used = 0;
  let inWindow = 0;

  const density = (slot: number): number =>
    known.popularity[slot * known.halfLives + rule.halfLife]! * known.values[slot]!;

  /** An empty cache holds exactly 0 bytes, whatever fractions were added and taken. */
  const released = (slot: number): void => {
    used = heap.count() + window.count() === 0 ? 0 : used - known.sizes[slot]!;
  };
  const leaveHeap = (slot: number): void => {
    heap.remove(slot);
    released(slot);
  };
  const enterHeap = (slot: number): void => {
    heap.push(slot, density(slot));
    used += known.sizes[slot]!;
  };
  const leaveWindow = (slot: number): void => {
    window.remove(slot);
    inWindow = window.count() === 0 ? 0 : inWindow - known.sizes[slot]!;
    released(slot);
  };

  /** By density. */
  function compete(slot: number): boolean {
    const room = capacity - known.sizes[slot]!;
    if (room < 0) return false;
    const before = victims.length;
    if (used > room) {
      const worth = density(slot);
      while (used > room && heap.count() > 0 && heap.leastKey() < worth) {
        const next = heap.first();
        leaveHeap(next);
        victims.push(next);
      }
    }
    if (used <= room) {
      enterHeap(slot);
      return true;
    }
    while (victims.length > before) enterHeap(victims.pop()!);
    return false;
  }

  function enterWindow(slot: number): void {
    window.touch(slot);
    used += known.sizes[slot]!;
    inWindow += known.sizes[slot]!;
    while (inWindow > rule.window * capacity) {
      const oldest = window.oldest();
      leaveWindow(oldest);
      if (!compete(oldest)) victims.push(oldest);
    }
    shed();
  }

  function shed(): void {
    while (used > capacity) {
      const next = heap.first();
      leaveHeap(next);
      victims.push(next);
    }
  }

  /** The window has shrunk: entries that no longer fit compete by density. */
  function narrow(): void {
    while (inWindow > rule.window * capacity) {
      const oldest = window.oldest();
      leaveWindow(oldest);
      enterHeap(oldest);
    }
  }

  const remove = (slot: number): void => (window.has(slot) ? leaveWindow(slot) : leaveHeap(slot));

  return {
    victims,
    has: (slot: number): boolean => heap.has(slot) || window.has(slot),
    used: (): number => used,
    count: (): number => heap.count() + window.count(),
    /** What is known of an entry changed. asked: because of a request for it. */
    changed(slot: number, asked: boolean): void {
      if (heap.has(slot)) heap.update(slot, density(slot));
      else if (asked) window.touch(slot);
    },
    /** False: the answer stays outside. Who leaves is in `victims`. */
    admit(slot: number): boolean {
      victims.length = 0;
      const size = known.sizes[slot]!;
      if (used + size > capacity && size <= rule.window * capacity) enterWindow(slot);
      else return compete(slot);
      return true;
    },
    remove,
    /** An entry's size is about to change by so much. True: it does not fit any more, and left. */
    resize(slot: number, by: number): boolean {
      if (used + by > capacity) {
        remove(slot);
        return true;
      }
      used += by;
      if (window.has(slot)) inWindow += by;
      return false;
    },
    setRule(next: Rule): void {
      rule = next;
      narrow();
      heap.rekey(density);
    },
    /** Half-lives were scaled by these factors. */
    rekey: (): void => heap.rekey(density),
  };
}
