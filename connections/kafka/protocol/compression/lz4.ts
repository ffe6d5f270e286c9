// The LZ4 frame format, whose blocks hold 4 MiB at most: so much is decompressed at a time.
// Checksums of frame and block are not looked at, since the batch has one of its own.
import { uncompressSync } from "lz4-napi";
import { corrupt, tooLarge } from "./unreadable.ts";

const magic = 0x184d2204;
const version = 0x40;
const flags = { version: 0xc0, independent: 0x20, blockChecksum: 0x10, size: 0x08, dictionary: 0x01 };
const uncompressed = 0x80000000;
/** How far back a block may refer to those before it. */
const windowBytes = 64 * 1024;

export function decompressLz4(bytes: Buffer, most: number): Buffer {
  if (bytes.readUInt32LE(0) !== magic) throw corrupt("no frame of LZ4");
  const flag = bytes.readUInt8(4);
  if ((flag & flags.version) !== version) throw corrupt("a version of LZ4's frames that does not exist");
  if ((flag & flags.dictionary) !== 0) throw corrupt("compressed with a dictionary");
  const step = (bytes.readUInt8(5) >> 4) & 7;
  if (step < 4) throw corrupt("blocks of no size that LZ4 has");
  const blockBytes = 2 ** (8 + 2 * step);
  const linked = (flag & flags.independent) === 0;
  const blocks: Buffer[] = [];
  let left = most;
  let window: Buffer = Buffer.alloc(0);
  // Behind magic, flags, block size, length of the content, checksum of the head.
  for (let at = 7 + ((flag & flags.size) === 0 ? 0 : 8); ;) {
    const head = bytes.readUInt32LE(at);
    if (head === 0) break;
    const size = head % uncompressed;
    at += 4;
    if (at + size > bytes.length) throw corrupt("a block of LZ4 ends behind the batch");
    const stored = bytes.subarray(at, at + size);
    const block = head >= uncompressed ? stored : inflate(stored, blockBytes, linked ? window : undefined);
    left -= block.length;
    if (left < 0) throw tooLarge(most);
    blocks.push(block);
    if (linked) window = Buffer.concat([window, block]).subarray(-windowBytes);
    at += size + ((flag & flags.blockChecksum) === 0 ? 0 : 4);
  }
  return blocks.length === 1 ? blocks[0]! : Buffer.concat(blocks);
}

/** The decoder reads in front of the block how much space it may use, and refuses to use more. */
function inflate(block: Buffer, most: number, window: Buffer | undefined): Buffer {
  const sized = Buffer.allocUnsafe(4 + block.length);
  sized.writeUInt32LE(most, 0);
  block.copy(sized, 4);
  return window === undefined || window.length === 0 ? uncompressSync(sized) : uncompressSync(sized, window);
}
