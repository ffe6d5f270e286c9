// What is refused over HTTP, in OpenAI's error format: a stable code, a message that says what was
// wrong and what to do, and whether the same request may be sent again.

import type { Response, ResponseError } from "../schemas/types.ts";

export interface ErrorOptions {
  status: number;
  /** snake_case, stable. */
  code: string;
  message: string;
  /** The field of the body that is wrong. */
  param?: string | undefined;
  /** Seconds after which it may be sent again. */
  retryAfter?: number | undefined;
  /** Headers of the answer, by lower-case name; they win over those that follow from the rest. */
  headers?: Readonly<Record<string, string>>;
  /** What Anthropic's clients branch on. */
  details?: Readonly<Record<string, unknown>> | undefined;
}

/** Answered as it is; anything else that is thrown is a bug of ours. */
export class ApiError extends Error {
  override name = "ApiError";
  readonly status: number;
  readonly code: string;
  readonly param: string | undefined;
  readonly retryAfter: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly details: ErrorOptions["details"];
  constructor({ status, code, message, param, retryAfter, headers = {}, details }: ErrorOptions) {
    super(message);
    this.status = status;
    this.code = code;
    this.param = param;
    this.retryAfter = retryAfter;
    this.headers = headers;
    this.details = details;
  }
}

export const badRequest = (message: string, param?: string, code = "invalid_value"): ApiError =>
  new ApiError({ status: 400, code, message, param });

export const unknownModel = (message: string): ApiError =>
  new ApiError({ status: 404, code: "model_not_found", message, param: "model" });

const types: Readonly<Record<number | string, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
  // OpenAI's clients know it by its type, too.
  insufficient_quota: "insufficient_quota",
};

/** The body of the answer, and the data of an error event. */
export const errorBody = ({
  status,
  code,
  message,
  param,
}: Pick<ApiError, "status" | "code" | "message"> & Partial<Pick<ApiError, "param">>) => ({
  error: {
    message,
    type: types[code] ?? types[status] ?? (status < 500 ? "invalid_request_error" : "server_error"),
    param: param ?? null,
    code,
  },
});

/** Clients of OpenAI try again by status; where that can't help they are told not to. */
export function errorHeaders({ status, retryAfter, headers }: ApiError): Record<string, string> {
  if (retryAfter !== undefined) return { "retry-after": String(retryAfter), ...headers };
  return status === 409 || status >= 500 ? { "x-should-retry": "false", ...headers } : { ...headers };
}

/**
 * The error of a response that is no answer, with its code and the status that fits. A code that is
 * not listed is 400 where plan refused the request, else 502.
 * pathOf: name of a member in the client's format.
 */
export function errorOfResponse(
  { status: outcome, error }: { status: Response["status"]; error: Partial<ResponseError> | null },
  pathOf: (member: string) => string = (member) => member,
): ApiError {
  const { code = "unknown", message = "The response says nothing of why it failed." } = error ?? {};
  const status = statusOf[code] ?? (outcome === "refused" ? 400 : 502);
  const seconds = Math.ceil((error?.retryAfterMs ?? 0) / 1_000);
  const retryAfter = again.has(code) ? Math.min(longestRetryAfter, Math.max(1, seconds)) : undefined;
  const param = error?.param ?? paramOf[code];
  return new ApiError({ status, code: clientsCode[code] ?? code, message, param: param && pathOf(param), retryAfter });
}

/** OpenAI's codes, which clients branch on. */
const clientsCode: Readonly<Record<string, string>> = { prompt_too_large: "context_length_exceeded" };

/** Seconds; an endpoint may say anything. */
const longestRetryAfter = 86_400;

/** What is wrong where plan refuses a request. */
const paramOf: Readonly<Record<string, string>> = {
  ...{ no_messages: "messages", too_many_messages: "messages", prompt_too_large: "messages" },
  ...{ metadata_too_large: "metadata", too_many_documents: "precedent.documents" },
  unknown_document: "precedent.documents",
  ...{ unknown_arm: "precedent.allow.arms", no_arm: "precedent.allow.arms" },
  too_expensive: "precedent.allow.max_cost",
};

const statusOf: Readonly<Record<string, number>> = {
  // An arm may fail with them, too.
  ...{ prompt_too_large: 400, too_expensive: 400, request_rejected: 400 },
  first_answer_gone: 410,
  id_reused: 422,
  cancelled: 499,
  too_many_repeats: 429,
  too_many_waiting: 429,
  rate_limited: 429,
  deadline_exceeded: 504,
  endpoint_timeout: 504,
};
const again = new Set(["too_many_repeats", "too_many_waiting", "rate_limited", "endpoint_unavailable", "stream_cut"]);
