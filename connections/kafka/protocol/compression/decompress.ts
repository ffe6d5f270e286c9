// The codecs of Kafka's record batches, each bounded: what a batch would hold above the bound is
// neither kept nor read.
import { decompressGzip } from "./gzip.ts";
import { decompressLz4 } from "./lz4.ts";
import { decompressSnappy } from "./snappy.ts";
import { Unreadable, unreadableOf } from "./unreadable.ts";
import { decompressZstd } from "./zstd.ts";

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
