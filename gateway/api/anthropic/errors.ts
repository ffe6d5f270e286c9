// Errors in Anthropic's format, with Precedent's stable code and the invalid member.
import type { ApiError } from "../../errors.ts";

const types: Readonly<Record<number, string>> = {
  ...{ 401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error" },
  ...{ 413: "request_too_large", 429: "rate_limit_error", 503: "overloaded_error", 504: "timeout_error" },
};

export const anthropicErrorBody = ({ status, code, message, param, details }: ApiError) => ({
  type: "error",
  error: {
    type: types[status] ?? (status < 500 ? "invalid_request_error" : "api_error"),
    ...{ message, code, ...(param !== undefined && { param }), ...(details && { details }) },
  },
});
