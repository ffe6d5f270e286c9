// What a failed call means: a stable code, whether to try again, and when.
// Messages are made here and never taken from the endpoint, whose bodies repeat prompts and keys.
import { APIConnectionError, APIConnectionTimeoutError, APIError } from "openai";
import { retryAfterMs } from "./backoff.ts";

export interface Problem {
  code: string;
  message: string;
  retriable: boolean;
  /** What the endpoint asked for; null: our own backoff. */
  retryAfterMs: number | null;
  /** Any request would fail so. */
  unhealthy?: boolean;
}

/** The connection ended before the answer did. */
export class CutShort extends Error {}
/** What came is not a chat completion; the message says why, where that is known. */
export class NotACompletion extends Error {}
/** A call of a tool that can't be made; the message says why. */
export class BrokenCall extends Error {}
/** More bytes came than any answer has. */
export class AnswerTooLong extends Error {
  readonly most: number;
  constructor(most: number) {
    super(`more than ${most} bytes`);
    this.most = most;
  }
}

const noConnection = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Reads the error of one call. `now` in milliseconds since the epoch. */
export function problemOf(error: unknown, now: number): Problem {
  if (error instanceof CutShort) return again("stream_cut", "The answer was cut off before its end.");
  if (error instanceof AnswerTooLong)
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
  if (isApiError(error)) return statusProblem(error, now);
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
  if (code !== null && noConnection.has(code))
    return again("endpoint_refused", `No connection to the endpoint (${code}); check baseUrl and that it runs.`);
  return again("endpoint_unavailable", `The connection to the endpoint was lost${code === null ? "" : ` (${code})`}.`);
}

function statusProblem(error: APIError, now: number): Problem {
  const { status } = error;
  const reason = word(error.code) ?? word(error.type);
  const reported = `${status === undefined ? "an error in the answer" : `status ${String(status)}`}${reason === null ? "" : ` (${reason})`}`;
  if (status !== undefined && status >= 300 && status < 400)
    return {
      ...never("endpoint_rejected", `The endpoint redirects (${reported}); set baseUrl to the address that answers.`),
      unhealthy: true,
    };
  if (status === 413 || reason === "context_length_exceeded")
    return never("prompt_too_large", `The endpoint refused the prompt as too long: ${reported}.`);
  if (status === 429 && reason === "insufficient_quota")
    return { ...never("endpoint_rejected", `The endpoint's quota is used up: ${reported}.`), unhealthy: true };
  const wait = retryAfterMs(error.headers?.get("retry-after"), now);
  if (status === 429) return again("rate_limited", `The endpoint takes no more requests for now: ${reported}.`, wait);
  if (status === 408) return again("endpoint_timeout", `The endpoint gave up: ${reported}.`, wait);
  if (status === undefined || status === 409 || status >= 500)
    return again("endpoint_unavailable", `The endpoint failed: ${reported}.`, wait);
  const rejected = never(
    "endpoint_rejected",
    `The endpoint rejected the request: ${reported}; check model, apiKey and parameters.`,
  );
  return ofEveryRequest.has(status) ? { ...rejected, unhealthy: true } : rejected;
}

/** No key or a wrong one, nothing paid, no such path or model. */
const ofEveryRequest: ReadonlySet<number> = new Set([401, 402, 404]);

const again = (code: string, message: string, wait: number | null = null): Problem => ({
  code,
  message,
  retriable: true,
  retryAfterMs: wait,
});
const never = (code: string, message: string): Problem => ({ code, message, retriable: false, retryAfterMs: null });

/** An error code as endpoints write them; anything else could be a piece of the prompt. */
function word(value: unknown): string | null {
  return typeof value === "string" && /^[a-z][a-z_]{1,47}$/.test(value) ? value : null;
}

function systemCode(error: unknown): string | null {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 6; cause = cause.cause, depth += 1) {
    if ("code" in cause && typeof cause.code === "string") return cause.code;
    // Several addresses were tried (localhost is ::1 and 127.0.0.1).
    if (cause instanceof AggregateError && cause.errors.length > 0) return systemCode(cause.errors[0]);
  }
  return null;
}
