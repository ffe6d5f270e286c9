// The codecs of Kafka's record batches; beyond a bound nothing is kept or read.
import { decompressLz4 } from "./lz4.ts";
import { decompressSnappy } from "./snappy.ts";
import { Unreadable, unreadableOf, tooLarge } from "./unreadable.ts";
import { decompressZstd } from "./zstd.ts";
import { promisify } from "node:util";
import { gunzip, gunzipSync } from "node:zlib";

type Decompress = (bytes: Buffer, most: number) => Buffer | Promise<Buffer>;

/** By the number in a batch's attributes. */
const codecs: readonly (Decompress | undefined)[] = [
  undefined,
  decompressGzip,
  decompressSnappy,
  decompressLz4,
  decompressZstd,
];

/** most: bytes of the result. Rejects with Unreadable alone. */
export async function decompress(codec: number, bytes: Buffer, most: number): Promise<Buffer> {
  const one = codecs[codec];
  if (one === undefined) throw new Unreadable("unknown_codec", `it is compressed by codec ${codec}`);
  try {
    return await one(bytes, most);
  } catch (error) {
    throw unreadableOf(error);
  }
}

const inThread = promisify(gunzip);
/** Less than this is decompressed sooner than a thread of libuv's pool takes it up. */
const smallBytes = 16 * 1024;
/** One at a time: two that are decompressed at once would take the memory of two. */
let last: Promise<unknown> = Promise.resolve();

const bounded = (error: unknown, most: number): unknown =>
  (error as { code?: string }).code === "ERR_BUFFER_TOO_LARGE" ? tooLarge(most) : error;

/** Rejects above `most` bytes without holding more than that. */
async function decompressGzip(bytes: Buffer, most: number): Promise<Buffer> {
  // The length at its end is that of its last member, and checked by zlib: no need to inflate it.
  if (bytes.length >= 4 && bytes.readUInt32LE(bytes.length - 4) > most) throw tooLarge(most);
  const options = { maxOutputLength: most };
  try {
    if (bytes.length <= smallBytes) return gunzipSync(bytes, options);
    const turn = last.then(() => inThread(bytes, options));
    last = turn.catch(() => undefined);
    return await turn;
  } catch (error) {
    throw bounded(error, most);
  }
}
