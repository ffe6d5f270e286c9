// The calls to an endpoint, with no limit on time besides the configured one. Redirects are not
// followed: they would take the key and the prompt to an address that no configuration names.
import { Agent, fetch as fetchWith } from "undici";
import { beginningOf } from "../../connections/http/bodies.ts";
import { readErrorBody } from "./error-body.ts";

/** Most bytes of an answer that is not streamed, of a stream with its envelope, of an error. */
export const mostBytes = { answer: 8 * 1_048_576, stream: 64 * 1_048_576, error: 65_536 };

/**
 * By itself undici ends a call whose endpoint is silent for 300 s, before its head or between two
 * pieces: timeoutMs alone says how long a call may take. A connection must be there in 10 s.
 */
export const connectionOptions = { headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 10_000 } };
const dispatcher = new Agent(connectionOptions);

/** The package's types and those of Node.js differ in names alone. */
const plainFetch = fetchWith as unknown as typeof fetch;

/** As fetch. error-body.ts reads and bounds the body of an error, the reader any other. */
export async function boundedFetch(
  url: string | URL | Request,
  init: RequestInit = {},
  call = plainFetch,
): Promise<Response> {
  const response = await call(url, { ...({ dispatcher } as object), ...init, redirect: "manual" });
  if (response.ok) return response;
  const { status, statusText } = response;
  const error = readErrorBody(await beginningOf(response.body, mostBytes.error));
  init.signal?.throwIfAborted();
  const headers = [...response.headers].filter(([name]) => !/^content-(length|encoding|type)$/.test(name));
  // A 304 can have no body.
  return new Response(status === 304 ? null : JSON.stringify({ error }), { status, statusText, headers });
}
