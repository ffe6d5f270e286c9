// An error that comes in the body of an answer, with status 200 or within a stream: with its own
// status, so that a rate limit is one.
import { APIError } from "openai";
import { isObject } from "../../algorithms/text/json-shape.ts";

type Json = Record<string, unknown>;

/** null: the body, or the choice, reports none. */
export function reportedError(value: Json, headers: Headers): APIError | null {
  const error = errorIn(value);
  if (error === null) return null;
  return new APIError(statusIn(error) ?? statusOfWords(error), error, undefined, headers);
}

const statusIn = (error: Json): number | undefined =>
  [error["status"], error["status_code"], error["http_code"], error["code"]].map(statusOf).find(Boolean);

function errorIn(value: Json): Json | null {
  const { error, errors, x_groq: groq, base_resp: base, detail, message, choices } = value;
  const hasChoices = Array.isArray(choices) ? choices.length > 0 : (choices ?? null) !== null;
  const found = [error, isObject(groq) && groq["error"], hasChoices ? null : errors].find(isError);
  const nested: unknown = Array.isArray(found) ? found.find(isError) : found;
  if (nested !== undefined) return { ...outer(value), ...(isObject(nested) ? members(nested) : textOf(nested)) };
  if (isObject(base) && Number(base["status_code"] ?? 0) !== 0)
    return { code: minimax.get(Number(base["status_code"])), message: base["status_msg"] };
  if (hasChoices) return null;
  if (value["object"] === "error" || value["type"] === "error") return value;
  if (typeof message === "string" && statusIn(value) !== undefined) return value;
  // The last piece of a stream may have no choices.
  if ((choices ?? null) !== null) return null;
  if (typeof message === "string" && isError(value["code"])) return value;
  return isError(detail) ? { message: detail } : null;
}

/** What stands beside an error says what it leaves out. */
const outer = (value: Json): Json =>
  members(Object.fromEntries(["message", "code", "type", "status", "status_code"].map((name) => [name, value[name]])));
const members = (value: Json): Json =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => (one ?? null) !== null));
const textOf = (text: unknown): Json => (text === true ? {} : { message: text });

/** Errors whose members are all empty, or speak of success, are none. */
function isError(value: unknown): boolean {
  if (isObject(value)) return Object.values(value).some(isError);
  if (typeof value === "string") return !/^(none|null|ok|success|false|0|200)?$/i.test(value.trim());
  return Array.isArray(value) ? value.some(isError) : Boolean(value) && value !== 200;
}

const minimax = new Map([
  [1002, "rate_limit_exceeded"],
  [1004, "invalid_api_key"],
  [1008, "insufficient_quota"],
  [1026, "content_filter"],
  [1027, "content_filter"],
  [1039, "context_length_exceeded"],
  [2013, "invalid_request"],
  [2049, "invalid_api_key"],
]);

function statusOf(value: unknown): number | undefined {
  const number = Number(value);
  return Number.isInteger(number) && number >= 400 && number <= 599 ? number : undefined;
}

const words: readonly (readonly [RegExp, number])[] = [
  [/rate_?limit|too_?many_?requests|resource_?exhausted|throttl|insufficient_quota|quota_exceeded/i, 429],
  [/context_?length|invalid_?(request|argument|parameter)|bad_?request|unsupported_/i, 400],
  [/authentication|invalid_?api_?key|unauthorized|unauthenticated|permission_denied/i, 401],
  [/model_?not_?found|not_?found_?error/i, 404],
];
const limited = /\b429\b|rate.?limit|too many requests/i;

/** undefined: it says nothing that a status would. */
function statusOfWords({ code, type, status, message }: Json): number | undefined {
  for (const word of [code, type, status])
    if (typeof word === "string") for (const [pattern, number] of words) if (pattern.test(word)) return number;
  return typeof message === "string" && limited.test(message.slice(0, 2_000)) ? 429 : undefined;
}
