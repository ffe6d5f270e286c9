// One budget of bytes for several memories: a step of bytes moves from the memory that would lose
// the least by it to the one that would gain the most, where that is clearly more. Steps are
// bounded, and every memory keeps its floor: what is measured is noisy, and only about bytes near
// the present split. Pure.

export interface Memory {
  name: string;
  /** It has now. */
  bytes: number;
  /** It never has less, unless it has now. */
  floor: number;
  /** What a step more would save, and what a step less would cost; of one unit, >= 0. */
  gain: number;
  loss: number;
}

export interface Moved {
  /** By name, in the order given. */
  bytes: Map<string, number>;
  /** Nothing moved: null. */
  from: string | null;
  to: string | null;
  /** Expected, in the unit of gain and loss. */
  saved: number;
}

export interface MoveOptions {
  /** Maximum bytes per move; gains and losses refer to this many bytes. */
  step: number;
  /** How much larger the gain must be than the loss: 1.2 is a fifth. */
  margin: number;
}

/**
 * The sum is preserved. Monotone: a memory with a higher gain or loss, all else equal, never ends
 * up with fewer bytes.
 */
export function moveBytes(memories: readonly Memory[], { step, margin }: MoveOptions): Moved {
  for (const { name, bytes, floor, gain, loss } of memories)
    if (![bytes, floor, gain, loss].every((value) => Number.isFinite(value) && value >= 0))
      throw new RangeError(`memory ${name}: bytes, floor, gain and loss must be finite and >= 0`);
  const bytes = new Map(memories.map((memory) => [memory.name, memory.bytes]));
  const none: Moved = { bytes, from: null, to: null, saved: 0 };
  let best: { donor: Memory; taker: Memory; saved: number } | null = null;
  for (const donor of memories) {
    if (donor.bytes - donor.floor < step) continue;
    for (const taker of memories) {
      if (taker.name === donor.name || !(taker.gain > margin * donor.loss)) continue;
      const saved = taker.gain - donor.loss;
      if (saved > (best?.saved ?? 0)) best = { donor, taker, saved };
    }
  }
  if (best === null) return none;
  const { donor, taker, saved } = best;
  bytes.set(donor.name, donor.bytes - step);
  bytes.set(taker.name, taker.bytes + step);
  return { bytes, from: donor.name, to: taker.name, saved };
}
