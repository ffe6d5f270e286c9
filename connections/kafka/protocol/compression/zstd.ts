// Zstandard by zstddec, which is zstd itself as WebAssembly. It decompresses into as much space as
// it is given, and says no more than that it failed. How much that must be is found by going
// through the blocks: streaming producers leave the length of the content out.
import { ZSTDDecoder } from "zstddec";
import { corrupt, tooLarge } from "./unreadable.ts";

const magic = 0xfd2fb528;
/** Its last four bits are any. */
const skippable = 0x184d2a50;
const blockBytes = 128 * 1024;
const blockTypes = { repeated: 1, compressed: 2 };

const decoder = new ZSTDDecoder();
let ready: Promise<void> | undefined;

export async function decompressZstd(bytes: Buffer, most: number): Promise<Buffer> {
  const { least, atMost } = sizeOf(bytes);
  if (least > most) throw tooLarge(most);
  if (atMost === 0) return Buffer.alloc(0);
  await (ready ??= decoder.init());
  const { buffer, byteOffset, length } = decoder.decode(bytes, Math.min(atMost, most));
  if (length > 0) return Buffer.from(buffer, byteOffset, length);
  throw atMost > most ? tooLarge(most) : corrupt("zstd can't decompress it");
}

/** Bytes that its frames hold at least and at most. Only compressed blocks do not say. */
function sizeOf(bytes: Buffer): { least: number; atMost: number } {
  const size = { least: 0, atMost: 0 };
  for (let at = 0; at < bytes.length;) {
    const start = bytes.readUInt32LE(at);
    if ((start & ~15) >>> 0 === skippable) {
      at += 8 + bytes.readUInt32LE(at + 4);
      continue;
    }
    if (start !== magic) throw corrupt("no frame of Zstandard");
    const descriptor = bytes.readUInt8(at + 4);
    at += headBytes(descriptor);
    for (let isLast = false; !isLast;) {
      const block = bytes.readUIntLE(at, 3);
      isLast = (block & 1) === 1;
      const [type, length] = [(block >> 1) & 3, block >>> 3];
      size.atMost += type === blockTypes.compressed ? blockBytes : length;
      if (type !== blockTypes.compressed) size.least += length;
      at += 3 + (type === blockTypes.repeated ? 1 : length);
    }
    if ((descriptor & 4) !== 0) at += 4; // checksum of the content
    if (at > bytes.length) throw corrupt("a frame of Zstandard ends behind the batch");
  }
  return size;
}

function headBytes(descriptor: number): number {
  const isSingleSegment = (descriptor & 32) !== 0;
  const window = isSingleSegment ? 0 : 1;
  const dictionary = [0, 1, 2, 4][descriptor & 3]!;
  const step = descriptor >> 6;
  const length = step === 0 ? (isSingleSegment ? 1 : 0) : 2 ** step;
  return 5 + window + dictionary + length;
}
