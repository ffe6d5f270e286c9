// Random numbers as a value that is passed in, so that every algorithm is repeatable from a seed.

/** Uniform in [0, 1). */
export type Random = () => number;

const MASK = (1n << 64n) - 1n;

/** splitmix64, 53 bits a draw. The state starts at the seed (its low 64 bits). */
export function splitmix64(seed: number | bigint): Random {
  let state = BigInt(seed) & MASK;
  return () => {
    state = (state + 0x9e3779b97f4a7c15n) & MASK;
    let x = state;
    x = ((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
    x = ((x ^ (x >> 27n)) * 0x94d049bb133111ebn) & MASK;
    x ^= x >> 31n;
    return Number(x >> 11n) * 2 ** -53;
  };
}

/** Standard normal by Box and Muller: two draws, the second value of the pair is dropped. */
export function normal(random: Random): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random()));
  return radius * Math.cos(2 * Math.PI * random());
}

/** Index in proportion to the weights (>= 0, finite). RangeError when none is positive. */
export function drawIndex(weights: readonly number[], random: Random): number {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (!(total > 0) || !Number.isFinite(total))
    throw new RangeError(`weights must be finite with a positive sum, not ${total}`);
  let left = random() * total;
  let last = 0;
  for (const [index, weight] of weights.entries()) {
    if (weight <= 0) continue;
    last = index;
    left -= weight;
    if (left < 0) return index;
  }
  return last;
}
