// MurmurHash2 (32 bits) as Kafka's clients use it to choose the partition of a key. Other producers
// and consumers of the same topics rely on the same choice.

const seed = 0x9747b28c;
const m = 0x5bd1e995;

/** A signed 32-bit integer. Linear in the length of `key`. */
export function murmur2(key: Uint8Array): number {
  const { length } = key;
  const whole = length & ~3;
  let h = seed ^ length;
  for (let i = 0; i < whole; i += 4) {
    let k = key[i]! | (key[i + 1]! << 8) | (key[i + 2]! << 16) | (key[i + 3]! << 24);
    k = Math.imul(k, m);
    k = Math.imul(k ^ (k >>> 24), m);
    h = Math.imul(h, m) ^ k;
  }
  const rest = length - whole;
  if (rest === 3) h ^= key[whole + 2]! << 16;
  if (rest >= 2) h ^= key[whole + 1]! << 8;
  if (rest >= 1) h = Math.imul(h ^ key[whole]!, m);
  h = Math.imul(h ^ (h >>> 13), m);
  return h ^ (h >>> 15);
}
