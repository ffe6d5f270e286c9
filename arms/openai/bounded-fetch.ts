// The calls to an endpoint: how much of what it sends is read, as it is after decompression, for an
// endless or inflated body must not fill the memory of all stages; and no limit on time besides the
// configured one. Redirects are not followed: they would take the key and the prompt to an address
// that no configuration names.
import { Agent, fetch as fetchWith } from "undici";
import { AnswerTooLong } from "./errors.ts";
import { readErrorBody } from "./error-body.ts";

/** Most bytes of an answer that is not streamed, of a stream with its envelope, of an error. */
export const mostBytes = { answer: 8 * 1_048_576, stream: 64 * 1_048_576, error: 65_536 };
const longestErrorMs = 5_000;

/**
 * By itself undici ends a call whose endpoint is silent for 300 s, before its head or between two
 * pieces: timeoutMs alone says how long a call may take. A connection must be there in 10 s.
 */
export const connectionOptions = { headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 10_000 } };
const dispatcher = new Agent(connectionOptions);

/** The package's types and those of Node.js differ in names alone. */
const plainFetch = fetchWith as unknown as typeof fetch;

/**
 * As fetch, through init's dispatcher if it has one. error-body.ts reads and bounds the body of an
 * error; the reader bounds any other body.
 */
export async function boundedFetch(
  url: string | URL | Request,
  init: RequestInit = {},
  call = plainFetch,
): Promise<Response> {
  const response = await call(url, { ...({ dispatcher } as object), ...init, redirect: "manual" });
  if (response.ok) return response;
  const { status, statusText } = response;
  const error = readErrorBody(await beginningOf(response, mostBytes.error));
  init.signal?.throwIfAborted();
  const headers = [...response.headers].filter(([name]) => !/^content-(length|encoding|type)$/.test(name));
  // A 304 can have no body.
  return new Response(status === 304 ? null : JSON.stringify({ error }), { status, statusText, headers });
}

export type Bytes = AsyncGenerator<Uint8Array, void>;

/** A body as it comes; who leaves it ends the call. */
export async function* partsOf(body: Response["body"]): Bytes {
  for await (const part of body ?? []) yield part as Uint8Array;
}

/** Throws AnswerTooLong, and what the connection does. */
export async function textOf(bytes: AsyncIterable<Uint8Array>, most: number): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of counted(bytes, most)) parts.push(part);
  return Buffer.concat(parts).toString("utf8");
}

/** The parts of a body; leaving early ends the call. Throws AnswerTooLong after `most` bytes. */
export async function* counted(bytes: AsyncIterable<Uint8Array>, most: number): Bytes {
  let count = 0;
  for await (const part of bytes) {
    count += part.length;
    if (count > most) throw new AnswerTooLong(most);
    yield part;
  }
}

/** What came of it: the status says most, whether or not the rest can be read. */
async function beginningOf({ body }: Response, most: number): Promise<string> {
  const parts: Uint8Array[] = [];
  const reader = (body as ReadableStream<Uint8Array> | null)?.getReader();
  const leave = (): void => void reader?.cancel().catch(() => undefined);
  const timer = setTimeout(leave, longestErrorMs);
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
