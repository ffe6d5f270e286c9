// Gzip by Node's zlib, outside of the event loop and one at a time: two that are decompressed at
// once would take the memory of two.
import { promisify } from "node:util";
import { gunzip, gunzipSync } from "node:zlib";
import { tooLarge } from "./unreadable.ts";

const inThread = promisify(gunzip);
/** Less than this is decompressed sooner than a thread of libuv's pool takes it up. */
const smallBytes = 16 * 1024;
let last: Promise<unknown> = Promise.resolve();

const bounded = (error: unknown, most: number): unknown =>
  (error as { code?: string }).code === "ERR_BUFFER_TOO_LARGE" ? tooLarge(most) : error;

/** Rejects above `most` bytes without holding more than that. */
export async function decompressGzip(bytes: Buffer, most: number): Promise<Buffer> {
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
