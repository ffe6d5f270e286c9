// How long to wait before calling an endpoint again.

import { waitAfter } from "../../algorithms/queueing/backoff.ts";

const waits = { first: 500, limit: 30_000 };

/** Milliseconds before attempt `next` (from 2): 0.5 s doubling to 30 s, up to half random. */
export function backoffMs(next: number, random: number): number {
  const full = waitAfter(next - 2, waits);
  return full * (1 - random / 2);
}

/** Milliseconds of a Retry-After header (seconds or date), >= 0; null: it says neither. */
export function retryAfterMs(header: string | null | undefined, now: number): number | null {
  if (header === null || header === undefined || header.trim() === "") return null;
  const text = header.trim();
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const date = /[A-Za-z]/.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}
