// The LZ4 frame format, whose blocks hold 4 MiB at most: so much is decompressed at a time.
// Checksums of frame and block are not looked at, since the batch has one of its own.
import { uncompressSync } from "lz4-napi";
import { mostBlocks } from "../../limits.ts";
import { corrupt, tooLarge } from "./unreadable.ts";

const magic = 0x184d2204;
const version = 0x40;
const flags = { version: 0xc0, independent: 0x20, blockChecksum: 0x10, size: 0x08, dictionary: 0x01 };
const uncompressed = 0x80000000;
/** How far back a block may refer to those before it. */
const windowBytes = 64 * 1024;
const leastMatch = 4;

export function decompressLz4(bytes: Buffer, most: number): Buffer {
  if (bytes.readUInt32LE(0) !== magic) throw corrupt("no frame of LZ4");
  const flag = bytes.readUInt8(4);
  if ((flag & flags.version) !== version) throw corrupt("a version of LZ4's frames that does not exist");
  if ((flag & flags.dictionary) !== 0) throw corrupt("compressed with a dictionary");
  const step = (bytes.readUInt8(5) >> 4) & 7;
  if (step < 4) throw corrupt("blocks of no size that LZ4 has");
  const blockBytes = 2 ** (8 + 2 * step);
  const linked = (flag & flags.independent) === 0;
  // Behind magic, flags, block size, length of the content, checksum of the head.
  const first = 7 + ((flag & flags.size) === 0 ? 0 : 8);
  const checksumBytes = (flag & flags.blockChecksum) === 0 ? 0 : 4;
  let [length, count] = [0, 0];
  for (const { stored, isCompressed } of blocksOf(bytes, first, checksumBytes)) {
    length += isCompressed ? lengthOf(stored) : stored.length;
    if (length > most) throw tooLarge(most);
    if (++count > mostBlocks) throw corrupt(`more than ${mostBlocks} blocks of LZ4`);
  }
  const whole = Buffer.allocUnsafe(length);
  let end = 0;
  for (const { stored, isCompressed } of blocksOf(bytes, first, checksumBytes)) {
    const window = linked ? whole.subarray(Math.max(0, end - windowBytes), end) : undefined;
    const block = isCompressed ? inflate(stored, blockBytes, window) : stored;
    if (end + block.length > length) throw corrupt("a block of LZ4 holds more than its sequences say");
    end += block.copy(whole, end);
  }
  return whole.subarray(0, end);
}

interface Block {
  stored: Buffer;
  isCompressed: boolean;
}

function* blocksOf(bytes: Buffer, first: number, checksumBytes: number): Generator<Block> {
  for (let at = first; ;) {
    const head = bytes.readUInt32LE(at);
    if (head === 0) return;
    const size = head % uncompressed;
    at += 4;
    if (at + size > bytes.length) throw corrupt("a block of LZ4 ends behind the batch");
    const stored = bytes.subarray(at, at + size);
    yield { stored, isCompressed: head < uncompressed };
    at += size + checksumBytes;
  }
}

/** What a block holds, read from its sequences without decompressing: a bomb takes no memory. */
function lengthOf(block: Buffer): number {
  let [at, length] = [0, 0];
  /** The rest of a length that does not fit into its four bits. */
  const rest = (): number => {
    for (let sum = 0; ;) {
      const byte = block[at++] ?? 0;
      sum += byte;
      if (byte < 255) return sum;
    }
  };
  while (at < block.length) {
    const token = block[at++]!;
    const literals = token >> 4 === 15 ? 15 + rest() : token >> 4;
    length += literals;
    at += literals;
    // The last sequence ends behind its literals.
    if (at >= block.length) break;
    at += 2; // how far back the match begins
    length += leastMatch + ((token & 15) === 15 ? 15 + rest() : token & 15);
  }
  return length;
}

/** The decoder reads in front of the block how much space it may use, and refuses to use more. */
function inflate(block: Buffer, most: number, window: Buffer | undefined): Buffer {
  const sized = Buffer.allocUnsafe(4 + block.length);
  sized.writeUInt32LE(most, 0);
  block.copy(sized, 4);
  return window === undefined || window.length === 0 ? uncompressSync(sized) : uncompressSync(sized, window);
}
