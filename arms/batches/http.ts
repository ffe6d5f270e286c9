// HTTP of providers' batches: a client with bounds on what it reads, and files of JSON lines.
import OpenAI, { APIError, type ClientOptions } from "openai";
import { isObject, jsonOf } from "../../algorithms/text/json-shape.ts";
import { partsOf, textOf } from "../../connections/http/bodies.ts";
import { boundedFetch } from "../openai/bounded-fetch.ts";
import { NoResponse } from "../openai/errors.ts";

/** Milliseconds that a call may take. */
export const requestMs = 60_000;
/** Milliseconds for reading one file, whatever its length. */
export const fileMs = 900_000;
/** A list that has more batches of two days has no end. */
const mostListed = 20_000;
const mostBodyBytes = 16 * 1_048_576;
const mostLineBytes = 16 * 1_048_576;

/** @param isFile whether an address has a file, which is read by lines() */
export const createBatchClient = (
  options: Pick<ClientOptions, "baseURL" | "defaultQuery" | "defaultHeaders"> & { apiKey: string },
  isFile: (pathname: string) => boolean,
  call?: typeof fetch,
): OpenAI =>
  new OpenAI({
    ...options,
    ...{ organization: null, project: null, maxRetries: 2, timeout: requestMs, logLevel: "off" },
    fetch: (url, init) =>
      readFetch(url, init, isFile, call).catch((error: unknown) => {
        throw init?.signal?.aborted ? error : new NoResponse(error);
      }),
  });

/** Reads what is no file to its end, so that the client's time bounds it. */
async function readFetch(
  url: string | URL | Request,
  init: RequestInit | undefined,
  isFile: (pathname: string) => boolean,
  call?: typeof fetch,
): Promise<Response> {
  const response = await boundedFetch(url, init, call);
  const address = new URL(url instanceof Request ? url.url : url);
  if (!response.ok || isFile(address.pathname)) return response;
  const headers = [...response.headers].filter(([name]) => !/^content-(length|encoding)$/.test(name));
  return new Response(await textOf(partsOf(response.body), mostBodyBytes), { status: response.status, headers });
}

/** Throws when a provider has listed so many batches that its list may have no end. */
export function checkListed(listed: number): void {
  if (listed > mostListed) throw new Error(`the provider lists more than ${mostListed} batches`);
}

/** Repeating the call would not help. */
export const isRefusal = (error: unknown): error is Error =>
  error instanceof APIError && refusals.has(Number(error.status));
const refusals = new Set([400, 401, 403, 404, 413, 422]);

export const isMissing = (error: unknown): error is APIError => error instanceof APIError && error.status === 404;

/** Lines of a file that are JSON objects, with their text; none where the file is gone. */
export async function* objectsOf(
  file: Promise<Response>,
): AsyncGenerator<{ line: Record<string, unknown>; text: string }> {
  const response = await file.catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
  for await (const text of textLines(partsOf(response?.body ?? null))) {
    const line = jsonOf(text);
    if (isObject(line)) yield { line, text };
  }
}

/** Longer lines are left out. */
async function* textLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let parts: Uint8Array[] = [];
  let length = 0;
  const taken = (): string => {
    const text = length > mostLineBytes ? "" : Buffer.concat(parts).toString();
    parts = [];
    length = 0;
    return text;
  };
  for await (const chunk of bytes) {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      parts.push(chunk.subarray(from, at));
      length += at - from;
      from = at + 1;
      yield taken();
    }
    length += chunk.length - from;
    if (length > mostLineBytes) parts = [];
    else parts.push(chunk.subarray(from));
  }
  if (length > 0) yield taken();
}
