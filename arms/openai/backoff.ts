// How long to wait before calling an endpoint again.

import { waitAfter } from "../../algorithms/queueing/backoff.ts";

const waits = { first: 500, limit: 30_000 };

/** Milliseconds before attempt `next` (from 2): 0.5 s doubling to 30 s, up to half random. */
export function backoffMs(next: number, random: number): number {
  const full = waitAfter(next - 2, waits);
  return full * (1 - random / 2);
}

/**
 * What an endpoint's headers ask for; isLimited: where Retry-After is missing, until a reset. Times
 * are the endpoint's: its clock and ours may differ by more than the wait.
 */
export function askedWaitMs(headers: Pick<Headers, "get"> | undefined, now: number, isLimited: boolean): number | null {
  const get = (name: string): string => headers?.get(name)?.trim() ?? "";
  const exact = get("retry-after-ms");
  if (isCount(exact)) return Number(exact);
  const date = Date.parse(get("date"));
  const there = Number.isNaN(date) ? now : date;
  return retryAfterMs(get("retry-after"), there) ?? (isLimited ? resetMs(get, there) : null);
}

/** Milliseconds of a Retry-After header, >= 0; null: it says none. Several: the first. */
export function retryAfterMs(header: string | null | undefined, now: number): number | null {
  const text = header?.trim() ?? "";
  const [first = ""] = /^\d/.test(text) ? text.split(/ ?[,;]/) : [text];
  return durationMs(first, now);
}

const isCount = (text: string): boolean => /^\d+(\.\d+)?$/.test(text);

/** The kinds of limits of OpenAI and Groq, Anthropic, and those that count one thing alone. */
const kinds = ["requests", "tokens", "input-tokens", "output-tokens", ""];
const prefixes = ["x-ratelimit", "anthropic-ratelimit", "ratelimit"];

/** The longest until a limit of which nothing is left is whole again. */
function resetMs(get: (name: string) => string, now: number): number | null {
  const found = prefixes.flatMap((prefix) =>
    kinds.flatMap((kind) => {
      const [ofOpenAi, ofOthers] = [`${prefix}-NAME-${kind}`, `${prefix}-${kind}-NAME`].map((name) =>
        name.replace("--", "-").replace(/-$/, ""),
      );
      const read = (what: string): string =>
        get((ofOpenAi ?? "").replace("NAME", what)) || get((ofOthers ?? "").replace("NAME", what));
      // Something is left, or it knows of no limit (-1): this one is no cause.
      const left = read("remaining");
      if (left !== "" && Number(left) !== 0) return [];
      const ms = durationMs(read("reset"), now);
      return ms === null ? [] : [ms];
    }),
  );
  return found.length === 0 ? null : Math.max(...found);
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const span =
  /^(?:\d{1,12}(?:\.\d{1,12})? ?(?:ms|milliseconds?|s|sec(?:ond)?s?|m|min(?:ute)?s?|h|hours?|d|days?)(?![a-z]) ?){1,5}/i;

/** Milliseconds of the beginning: "6m0s", "120 ms", "1 minute 5 seconds"; null: none. */
export function spanMs(text: string, isAll = false): number | null {
  const [found = ""] = span.exec(text) ?? [];
  if (found === "" || (isAll && found !== text)) return null;
  return [...found.toLowerCase().matchAll(/(\d{1,12}(?:\.\d{1,12})?) ?(ms|milli|[smhd])/g)].reduce(
    (sum, [, amount, unit = ""]) => sum + Number(amount) * (units[unit] ?? 1),
    0,
  );
}

/** A span, seconds, a date, or a time since the epoch in s or ms; else null. */
function durationMs(text: string, now: number): number | null {
  const ms = spanMs(text, true);
  if (ms !== null) return ms;
  if (isCount(text)) {
    const count = Number(text);
    return count < 1e9 ? count * 1_000 : Math.max(0, count * (count < 1e12 ? 1_000 : 1) - now);
  }
  const date = /[A-Za-z]/.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}
