// When requests count as the same: the text that logs are searched by, and the hash of an id's use.
import { hash } from "node:crypto";
import type { Request } from "../../schemas/types.ts";
import { normalise } from "./normalise.ts";

/** NFC, trimmed, white space single, case kept. To look a question up, not to reuse an answer. */
export const canonicalText = (text: string): string => normalise(text).trim().replace(/\s+/gu, " ");

/** Like canonicalText, but lines and their indentation stay. To compare, not to reuse an answer. */
export const canonicalContent = (text: string): string =>
  normalise(text)
    .split(/\r\n?|\n/)
    .map((line) => line.trimEnd())
    .join("\n")
    .trim();

/**
 * sha256 (hex) over what influences the answer, exactly: conversation, documents, sampling
 * parameters, passthrough, limits on arms and cost; not who asks, when, under which id.
 */
export function canonicalHash(
  request: Pick<Request, "messages" | "documents" | "params" | "allow"> & Partial<Pick<Request, "passthrough">>,
): string {
  const { messages, documents, params, allow, passthrough = null } = request;
  const canonical = [
    2,
    messages.map(({ role, content }) => [role, content]),
    documents,
    [params.maxTokens, params.temperature, params.topP, params.seed, params.stop],
    [allow.arms === null ? null : [...new Set(allow.arms)].sort(), allow.maxCost, allow.costWeight],
    ...(passthrough === null ? [] : [passthrough]),
  ];
  return hash("sha256", JSON.stringify(canonical));
}

/** Whether a repeated id asks the same: question and domain, 32 hex digits. */
export function requestHash(
  request: Pick<Request, "domain" | "messages" | "documents" | "params" | "allow"> &
    Partial<Pick<Request, "passthrough">>,
): string {
  const text = JSON.stringify([request.domain, canonicalHash(request)]);
  return hash("sha256", text).slice(0, 32);
}
