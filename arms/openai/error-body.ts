// What an endpoint says of a failed call, out of the error bodies in use: OpenAI's, flat ones
// (vLLM, Mistral), a text or list alone (TGI, xAI, Gemini), FastAPI's detail, nested ones of
// proxies. Every member is read by itself; what is of another type is as if it were missing. Pure
// and linear.
import { isObject, listOf } from "../../algorithms/text/json-shape.ts";
import { spanMs } from "./backoff.ts";

export interface ErrorBody {
  /** One line without markup, at most `longest` characters; "": nothing. */
  message: string;
  /** Words of the endpoint, of which the first says most; lower case. */
  words: string[];
  /** The member of the body that is wrong, as the endpoint names it. */
  param: string | null;
  /** A status that the body names. */
  status: number | null;
  /** Milliseconds that the body asks to wait (Gemini's RetryInfo, or in words). */
  waitMs: number | null;
  /** Limits and waits of another server's headers, which OpenRouter has in the body; lower case. */
  headers: Record<string, string>;
  /** A page for people: what answered is no API, or a proxy before it. */
  isPage: boolean;
}

const longest = 300;
const deepest = 6;
type Json = Readonly<Record<string, unknown>>;

/** Reads a body, or a part of one that was parsed already; also what it has returned itself. */
export function readErrorBody(body: unknown): ErrorBody {
  const value = typeof body === "string" ? parsedOf(body) : body;
  const reported: ErrorBody = {
    ...{ message: "", words: [], param: null, status: null },
    ...{ waitMs: null, headers: {}, isPage: false },
  };
  if (typeof value === "string") {
    reported.isPage = /^\s*</.test(value);
    reported.message = line(reported.isPage ? (/<title[^>]*>([^<]*)/i.exec(value)?.[1] ?? "") : value);
  } else take(value, reported, 0);
  reported.message = reported.message.slice(0, longest);
  reported.waitMs ??= waitIn(reported.message);
  return reported;
}

/** What lies deeper is nearer to the cause. */
function take(value: unknown, reported: ErrorBody, depth: number): void {
  if (depth > deepest) return;
  if (typeof value === "string") {
    const inner = parsedOf(value);
    if (typeof inner === "string") reported.message ||= line(inner);
    else take(inner, reported, depth + 1);
  } else if (Array.isArray(value)) take(value[0], reported, depth + 1);
  if (!isObject(value)) return;
  for (const name of ["error", "errors", "detail", "metadata", "raw", "message", "Message", "msg", "error_message"])
    if (value[name] !== undefined && value[name] !== null) take(value[name], reported, depth + 1);
  for (const name of ["code", "type", "status", "error_type", "reason", "__type"]) {
    const word = value[name];
    const status = typeof word === "string" && /^\d{3}$/.test(word) ? Number(word) : word;
    // Others are codes of gRPC, of JSON-RPC, or the endpoint's own.
    if (typeof status === "number") reported.status ??= isFailure(status) ? status : null;
    else if (typeof word === "string" && /^[\w.-]{2,60}$/.test(word)) reported.words.push(word.toLowerCase());
  }
  for (const word of firstOf(value["words"]))
    if (typeof word === "string" && !reported.words.includes(word)) reported.words.push(word);
  reported.param ??= paramOf(value);
  for (const [name, one] of Object.entries(isObject(value["headers"]) ? value["headers"] : {}).slice(0, mostHeaders))
    if (ofLimits.test(name) && (typeof one === "string" || typeof one === "number"))
      reported.headers[name.toLowerCase()] ??= String(one).slice(0, 64);
  if (value["isPage"] === true) reported.isPage = true;
  if (typeof value["waitMs"] === "number") reported.waitMs ??= value["waitMs"];
  for (const detail of firstOf(value["details"])) {
    const delay = isObject(detail) ? detail["retryDelay"] : undefined;
    if (typeof delay === "string" && /^\d+(\.\d+)?s$/.test(delay))
      reported.waitMs ??= Number(delay.slice(0, -1)) * 1_000;
    if (isObject(detail) && typeof detail["reason"] === "string") reported.words.push(detail["reason"].toLowerCase());
  }
}

const mostHeaders = 50;
const ofLimits = /^(retry-after(-ms)?|(x-)?ratelimit-[a-z-]{1,40})$/i;

const isFailure = (status: number): boolean => Number.isInteger(status) && status >= 400 && status <= 599;

const firstOf = (value: unknown): readonly unknown[] => listOf(value).slice(0, 20);

/** `param`, or FastAPI's path: ["body", "messages", 0, "content"]. */
function paramOf({ param, loc }: Json): string | null {
  const path = firstOf(loc).filter((part) => typeof part === "string" || typeof part === "number");
  const name = path.length > 0 ? path.filter((part, at) => at > 0 || part !== "body").join(".") : param;
  const text = typeof name === "string" ? name.replace(/\.(\d+)(?=\.|$)/g, "[$1]") : "";
  return /^[a-z][\w.[\]-]{0,199}$/i.test(text) && text !== "None" && text !== "null" ? text : null;
}

function parsedOf(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** On one line: a text may begin with any number of tags and blanks. */
const line = (text: string): string =>
  text
    .slice(0, 8 * longest)
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim();

function waitIn(message: string): number | null {
  const [, text] = /\b(?:retry|try again|wait) (?:(?:after|in|for) )?(\d.{0,60})/i.exec(message) ?? [];
  if (text === undefined) return null;
  const [seconds] = /^\d{1,9}(?:\.\d+)?/.exec(text) ?? [];
  return spanMs(text) ?? (seconds === undefined ? null : Number(seconds) * 1_000);
}
