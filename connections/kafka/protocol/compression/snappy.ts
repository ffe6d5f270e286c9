// Snappy as Kafka has it: snappy-java's framing ("xerial"), or a bare block (librdkafka).
import { uncompressSync } from "snappy";
import { mostBlocks } from "../../limits.ts";
import { corrupt, tooLarge } from "./unreadable.ts";

const magic = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0]);
/** Magic, version, the least version that can read it. */
const headBytes = magic.length + 8;

export function decompressSnappy(bytes: Buffer, most: number): Buffer {
  const blocks = (): Iterable<Buffer> => (startsAt(bytes, 0) ? blocksOf(bytes) : [bytes]);
  let [length, count] = [0, 0];
  for (const block of blocks()) {
    length += lengthOf(block);
    if (length > most) throw tooLarge(most);
    if (++count > mostBlocks) throw corrupt(`more than ${mostBlocks} blocks of Snappy`);
  }
  const whole = Buffer.allocUnsafe(length);
  let end = 0;
  for (const block of blocks()) end += (uncompressSync(block, { asBuffer: true }) as Buffer).copy(whole, end);
  return whole.subarray(0, end);
}

function* blocksOf(bytes: Buffer): Generator<Buffer> {
  for (let at = headBytes; at < bytes.length;) {
    // Streams may follow each other.
    if (startsAt(bytes, at)) {
      at += headBytes;
      continue;
    }
    const size = bytes.readInt32BE(at);
    at += 4;
    if (size < 0 || at + size > bytes.length) throw corrupt("a block of Snappy ends behind the batch");
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

const startsAt = (bytes: Buffer, at: number): boolean => bytes.subarray(at, at + magic.length).equals(magic);

/** What a block says of itself: seven bits a byte; the decoder refuses one that is longer. */
function lengthOf(bytes: Buffer): number {
  let length = 0;
  for (let index = 0; index < 5; index++) {
    const byte = bytes[index] ?? 0;
    length += (byte & 127) * 128 ** index;
    if (byte < 128) break;
  }
  return length;
}
