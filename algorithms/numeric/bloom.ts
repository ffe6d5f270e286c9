// A Bloom filter: a set of names in few bytes, with false positives but no false negatives. Two
// halves of one hash give all positions (Kirsch and Mitzenmacher, 2006).

/** Hash of a name for filters of any size: two whole numbers from 0 to 2^32 - 1. */
export type BloomHash = readonly [first: number, second: number];

export interface BloomFilter {
  /** Position p is bit p % 8 of byte floor(p / 8). */
  bits: Uint8Array;
  /** Positions of a name, >= 1; 0 with no bits: the empty set. */
  hashes: number;
}

export interface BloomOptions {
  /** Share of false positives, (0, 1). Default 0.01, which takes 9.6 bits a name. */
  falsePositives?: number;
  /** Maximum bytes, by default 64 KiB: 54,000 names at 0.01. Beyond, false positives rise. */
  mostBytes?: number;
}

const mostHashes = 16;
/** In fewer, positions collide more often than by chance. */
const leastBytes = 64;

/** cyrb53 (public domain), both halves: a tenth of the time of a cryptographic hash. */
export function bloomHash(name: string): BloomHash {
  let first = 0xdeadbeef;
  let second = 0x41c6ce57;
  for (let i = 0; i < name.length; i++) {
    const unit = name.charCodeAt(i);
    first = Math.imul(first ^ unit, 2_654_435_761);
    second = Math.imul(second ^ unit, 1_597_334_677);
  }
  first = mixed(first, second);
  second = mixed(second, first);
  return [first >>> 0, second >>> 0];
}

const mixed = (a: number, b: number): number =>
  Math.imul(a ^ (a >>> 16), 2_246_822_507) ^ Math.imul(b ^ (b >>> 13), 3_266_489_909);

/** The size follows the number of names. Throws RangeError for options out of range. */
export function createBloom(names: ReadonlySet<string>, options: BloomOptions = {}): BloomFilter {
  const { falsePositives = 0.01, mostBytes = 65_536 } = options;
  if (!(falsePositives > 0 && falsePositives < 1)) throw new RangeError(`falsePositives is ${falsePositives}`);
  if (!(mostBytes >= 1)) throw new RangeError(`mostBytes is ${mostBytes}`);
  if (names.size === 0) return { bits: new Uint8Array(0), hashes: 0 };
  const wanted = (names.size * -Math.log(falsePositives)) / Math.LN2 ** 2;
  const bits = new Uint8Array(Math.min(Math.max(leastBytes, Math.ceil(wanted / 8)), Math.floor(mostBytes)));
  const hashes = Math.min(mostHashes, Math.max(1, Math.round(((8 * bits.length) / names.size) * Math.LN2)));
  for (const name of names)
    for (const position of positions(bloomHash(name), hashes, bits.length))
      bits[position >>> 3]! |= 1 << (position & 7);
  return { bits, hashes };
}

/** Whether the name may be in it; false is certain. */
export function mayContain({ bits, hashes }: BloomFilter, name: BloomHash): boolean {
  if (bits.length === 0 || hashes < 1) return false;
  for (const position of positions(name, Math.min(hashes, mostHashes), bits.length))
    if ((bits[position >>> 3]! & (1 << (position & 7))) === 0) return false;
  return true;
}

/** Below 2^37, so exact; an even step could share a divisor with the size. */
function* positions([first, second]: BloomHash, hashes: number, bytes: number): Generator<number> {
  const step = (second | 1) >>> 0;
  for (let i = 0; i < hashes; i++) yield (first + i * step) % (8 * bytes);
}
