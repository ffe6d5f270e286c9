// An error that comes in the body of an answer, with status 200 or within a stream: with its own
// status, so that a rate limit is one.
import { APIError } from "openai";
import { isJson } from "./counts.ts";

type Json = Record<string, unknown>;

/** null: the body, or the choice, reports none. */
export function reportedError(value: Json, headers: Headers): APIError | null {
  const error = errorIn(value);
  if (error === null) return null;
  const status = [error["status"], error["status_code"], error["http_code"], error["code"]].map(statusOf).find(Boolean);
  return new APIError(status ?? statusOfWords(error), error, undefined, headers);
}

function errorIn(value: Json): Json | null {
  const { error, x_groq: groq, base_resp: base, detail, message, choices } = value;
  const nested = isSaid(error) ? error : isJson(groq) && isSaid(groq["error"]) ? groq["error"] : null;
  if (nested !== null) return isJson(nested) ? nested : { message: nested };
  if (isJson(base) && Number(base["status_code"] ?? 0) !== 0)
    return { code: minimax.get(Number(base["status_code"])), message: base["status_msg"] };
  if ((choices ?? null) !== null) return null;
  if (value["object"] === "error" || (typeof message === "string" && isSaid(value["code"]))) return value;
  return isSaid(detail) ? { message: detail } : null;
}

/** Errors whose members are all empty are none. */
function isSaid(value: unknown): boolean {
  if (isJson(value)) return Object.values(value).some(isSaid);
  return Array.isArray(value) ? value.some(isSaid) : Boolean(value);
}

const minimax = new Map([
  [1002, "rate_limit_exceeded"],
  [1004, "invalid_api_key"],
  [1008, "insufficient_quota"],
  [1039, "context_length_exceeded"],
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
    if (typeof word === "string") for (const [said, number] of words) if (said.test(word)) return number;
  return typeof message === "string" && limited.test(message.slice(0, 2_000)) ? 429 : undefined;
}
