// How much of what an endpoint sends is read, as it is after decompression: an endless or inflated
// body must not fill the memory of all stages. Redirects are not followed: they would take the key
// and the prompt to an address that no configuration names.
import { AnswerTooLong } from "./errors.ts";

/** Most bytes of an answer that is not streamed, of a stream with its envelope, of an error. */
export const mostBytes = { answer: 8 * 1_048_576, stream: 64 * 1_048_576, error: 65_536 };

/** As fetch; of an error's body there is the beginning, of another one the reader keeps count. */
export async function boundedFetch(url: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(url, { ...init, redirect: "manual" });
  if (response.ok) return response;
  const { status, statusText, headers } = response;
  const text = await beginningOf(response, mostBytes.error);
  // These can have no body.
  return new Response(status === 304 ? null : text, { status, statusText, headers });
}

/** Throws AnswerTooLong, and what the connection does. */
export async function textOf(response: Response, most: number): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of counted(response, most)) parts.push(part);
  return Buffer.concat(parts).toString("utf8");
}

/** The parts of a body; leaving early ends the call. Throws AnswerTooLong after `most` bytes. */
export async function* counted(response: Response, most: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += (part as Uint8Array).length;
    if (bytes > most) throw new AnswerTooLong(most);
    yield part as Uint8Array;
  }
}

async function beginningOf(response: Response, most: number): Promise<string> {
  const parts: Uint8Array[] = [];
  try {
    for await (const part of counted(response, most)) parts.push(part);
  } catch (error) {
    if (!(error instanceof AnswerTooLong)) throw error;
  }
  return Buffer.concat(parts).toString("utf8");
}
