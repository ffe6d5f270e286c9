// What a failed call means: a stable code, whose fault it is, whether to try again, and when.
import { APIConnectionError, APIConnectionTimeoutError, APIError } from "openai";
import { BodyTooLong } from "../../connections/http/bodies.ts";
import { askedWaitMs } from "./backoff.ts";
import { blame, quoteOf, type Sent } from "./refusal.ts";
import { readErrorBody, type ErrorBody } from "./error-body.ts";

export interface Problem {
  code: string;
  message: string;
  retriable: boolean;
  /** What the endpoint asked for; null: our own backoff. */
  retryAfterMs: number | null;
  /** Any request would fail so. */
  unhealthy?: boolean;
  /** No response arrived: another replica can be called at once. */
  unreachable?: boolean;
  /** The member of the request that is wrong, as its client names it. */
  param?: string | undefined;
}

/** No connection, or it closed before the response's head; code: the system's error code. */
export class NoResponse extends Error {
  readonly code: string | null;
  constructor(error: unknown) {
    // The client library mistakes an error whose text names a timeout for its own.
    super("no response");
    this.code = systemCode(error);
  }
}
/** The connection ended before the answer did. */
export class CutShort extends Error {}
/** What came is not a chat completion; the message says why, where that is known. */
export class NotACompletion extends Error {}
/** A call of a tool that can't be made; the message says why. */
export class BrokenCall extends Error {}
const noConnection = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ETIMEDOUT",
  "EHOSTDOWN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Another arm may do better at once. */
export const isArmsProblem = ({ retriable, unhealthy }: Problem): boolean => retriable || unhealthy === true;

/** Reads the error of one call. `now` in milliseconds since the epoch. */
export function problemOf(error: unknown, now: number, sent: Sent): Problem {
  if (error instanceof CutShort) return again("stream_cut", "The answer was cut off before its end.");
  if (error instanceof BodyTooLong)
    return again("endpoint_unavailable", `The endpoint sent more than ${error.most / 1_048_576} MiB for one answer.`);
  // RangeError: nested too deeply.
  if (error instanceof NotACompletion || error instanceof SyntaxError || error instanceof RangeError)
    return again(
      "endpoint_unavailable",
      `The endpoint sent something that is no chat completion${whyOf(error)}; check baseUrl.`,
    );
  if (error instanceof BrokenCall)
    return again("model_failed", `The endpoint's answer has a call of a tool ${error.message}: ask again.`);
  if (error instanceof APIConnectionTimeoutError)
    return again("endpoint_timeout", "The endpoint did not answer in time.");
  if (error instanceof APIConnectionError) return connectionProblem(error);
  if (isApiError(error)) return statusProblem(error, now, sent);
  // undici: the body ended early ("terminated").
  if (error instanceof TypeError && error.cause !== undefined)
    return again("stream_cut", "The answer was cut off before its end.");
  throw error;
}

const whyOf = (error: Error): string =>
  error instanceof NotACompletion && error.message !== "" ? ` (${error.message})` : "";

const isApiError = (error: unknown): error is APIError => error instanceof APIError;

function connectionProblem(error: APIConnectionError): Problem {
  const code = systemCode(error);
  const advice = tlsAdvice(code);
  if (advice !== undefined)
    return {
      ...again("endpoint_unavailable", `No TLS connection to the endpoint (${code}): ${advice}.`),
      unreachable: true,
    };
  const problem =
    code !== null && noConnection.has(code)
      ? again("endpoint_refused", `No connection to the endpoint (${code}); check baseUrl and that it runs.`)
      : again("endpoint_unavailable", `The connection to the endpoint was lost${code === null ? "" : ` (${code})`}.`);
  return { ...problem, unreachable: true };
}

function statusProblem(error: APIError, now: number, sent: Sent): Problem {
  const read = readErrorBody(error.error ?? "");
  const status = statusBehind(error.status ?? read.status ?? statusOf(read), read);
  // A limit that is reached is no reason for other errors to wait until it is whole again.
  const within = { get: (name: string) => read.headers[name] ?? null };
  const waitIn = (headers: Parameters<typeof askedWaitMs>[0]) => askedWaitMs(headers, now, status === 429);
  const wait = waitIn(error.headers) ?? waitIn(within) ?? read.waitMs;
  const reported = { ...read, waitMs: wait };
  const [reason] = reported.words;
  const where = error.status === undefined ? "an error in the stream" : `status ${error.status}`;
  const described = `${where}${reason === undefined ? "" : ` (${reason})`}${quoteOf(reported, sent)}`;
  if (status !== undefined && status >= 300 && status < 400)
    return {
      ...never("endpoint_rejected", `The endpoint redirects (${described}); set baseUrl to the address that answers.`),
      unhealthy: true,
    };
  if (read.words.some((word) => unusable.test(word)))
    return again("model_failed", `The endpoint can't use what its model wrote: ${described}; ask again.`, wait);
  const found = blame(status, reported, sent);
  if (found?.fault === "arm")
    return {
      ...never("endpoint_rejected", `The endpoint rejects all requests: ${described}; ${found.remedy}`),
      unhealthy: true,
    };
  if (found !== null) {
    // LangChain, LiteLLM and Claude Code know it by these words, quoted or not.
    const isTooLong = found.code === "prompt_too_large";
    const what = isTooLong ? "The prompt is too long for the endpoint" : "The endpoint rejected the request";
    return { ...never(found.code, `${what}: ${described}; ${found.remedy}`), param: found.param };
  }
  if (status === 429) return again("rate_limited", `The endpoint takes no more requests for now: ${described}.`, wait);
  if (status === 408) return again("endpoint_timeout", `The endpoint gave up: ${described}.`, wait);
  return again("endpoint_unavailable", `The endpoint failed: ${described}.`, wait);
}

/** Groq's codes, with status 400, for calls and JSON of the model that can't be read. */
const unusable = /^(tool_use|json_validate|output_parse)_failed$/;

/** Some say in words alone, with the status of a refusal, that they are busy or have crashed. */
function statusBehind(status: number | undefined, { words, message }: ErrorBody): number | undefined {
  if (status !== 400 && status !== 403 && status !== 422) return status;
  if (words.some((word) => /rate_?limit|too_?many_?requests|throttl|resource_?exhausted/.test(word))) return 429;
  // LM Studio, whose processes end when another model is loaded.
  const isGone = /^(the )?model (has crashed|(is |was )?(unloaded|reloaded))\b/i.test(message);
  return isGone || words.some((word) => /overloaded|^(service_?)?unavailable(_error)?$/.test(word)) ? 503 : status;
}

/** The status of an error in a stream that names none. */
function statusOf({ words }: ErrorBody): number | undefined {
  const text = words.join(" ");
  if (/rate_limit|too_many_requests|resource_exhausted|throttl/.test(text)) return 429;
  if (/authentication|invalid_api_key|permission/.test(text)) return 401;
  if (/invalid_request|bad_?request|invalid_argument/.test(text)) return 400;
  return /model_not_found|not_?found/.test(text) ? 404 : undefined;
}

const again = (code: string, message: string, wait: number | null = null): Problem => ({
  code,
  message,
  retriable: true,
  retryAfterMs: wait,
});
const never = (code: string, message: string): Problem => ({ code, message, retriable: false, retryAfterMs: null });

/** What to do where TLS itself failed; undefined: something else did. */
export function tlsAdvice(code: string | null): string | undefined {
  if (code === null) return undefined;
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH/.test(code)) return "it speaks no TLS; begin baseUrl with http://";
  if (/CERT_(HAS_EXPIRED|NOT_YET_VALID)/.test(code)) return "renew its certificate, or set this machine's clock";
  if (/ALTNAME/.test(code)) return "its certificate is for other names; use one of them in baseUrl";
  if (/CERT|ISSUER|LEAF_SIGNATURE/.test(code)) return "name its certificate's authority in NODE_EXTRA_CA_CERTS";
  return undefined;
}

export function systemCode(error: unknown): string | null {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 6; cause = cause.cause, depth += 1) {
    if ("code" in cause && typeof cause.code === "string") return cause.code;
    // Several addresses were tried (localhost is ::1 and 127.0.0.1).
    if (cause instanceof AggregateError && cause.errors.length > 0) return systemCode(cause.errors[0]);
  }
  return null;
}
