// Bodies that other servers send, as they are after decompression, read within a bound: an endless
// or inflated one must not fill the memory of all stages.

export type Bytes = AsyncGenerator<Uint8Array, void>;

/** More bytes came than any answer has. */
export class BodyTooLong extends Error {
  readonly most: number;
  constructor(most: number) {
    super(`more than ${most} bytes`);
    this.most = most;
  }
}

/** A body as it comes; who leaves it ends the call. */
export async function* partsOf(body: Response["body"]): Bytes {
  for await (const part of body ?? []) yield part as Uint8Array;
}

/** Default `most`: 1 MiB. Throws BodyTooLong, and what the connection does. */
export async function textOf(bytes: AsyncIterable<Uint8Array>, most = 1_048_576): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of counted(bytes, most)) parts.push(part);
  return Buffer.concat(parts).toString("utf8");
}

/** The parts of a body; leaving early ends the call. Throws BodyTooLong after `most` bytes. */
export async function* counted(bytes: AsyncIterable<Uint8Array>, most: number): Bytes {
  let count = 0;
  for await (const part of bytes) {
    count += part.length;
    if (count > most) throw new BodyTooLong(most);
    yield part;
  }
}

const longestBeginningMs = 5_000;

/** A body's beginning, within `most` bytes and 5 s; for errors, whose status says most. */
export async function beginningOf(body: Response["body"], most: number): Promise<string> {
  const parts: Uint8Array[] = [];
  const reader = (body as ReadableStream<Uint8Array> | null)?.getReader();
  const leave = (): void => void reader?.cancel().catch(() => undefined);
  const timer = setTimeout(leave, longestBeginningMs);
  try {
    for (let bytes = 0; reader !== undefined && bytes <= most;) {
      const { value } = await reader.read();
      if (value === undefined) break;
      parts.push(value.subarray(0, most - bytes));
      bytes += value.length;
    }
  } catch {
    // Cut off, or packed otherwise than it says.
  }
  clearTimeout(timer);
  leave();
  return Buffer.concat(parts).toString("utf8");
}
