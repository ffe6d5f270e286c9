// Values of other systems' rows, read by themselves: what has another type or range is null, and
// nothing throws but RowProblem. Pure.
import { isObject } from "../../algorithms/text/json-shape.ts";
import { parseExact } from "../../algorithms/text/exact-json.ts";

export type Json = Readonly<Record<string, unknown>>;

/** Why a row is left out. */
export class RowProblem extends Error {
  override name = "RowProblem";
  /** @param reason equal for rows of one kind, so that they can be counted */
  constructor(
    readonly reason: string,
    message = reason,
  ) {
    super(message);
  }
}

export const objectOf = (value: unknown): Json | undefined => (isObject(value) ? value : undefined);

/** Objects and lists that stand as JSON in a text; any other value as it is. */
export function parsed(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
  try {
    return parseExact(value);
  } catch {
    return value;
  }
}

/** The object that a value is, or holds as JSON text; {}: neither. */
export const membersOf = (value: unknown): Json => objectOf(parsed(value)) ?? {};

/** Members of the first of these that has any. */
export const firstMembers = (row: Json, ...names: readonly string[]): Json =>
  names.map((name) => membersOf(row[name])).find((members) => Object.keys(members).length > 0) ?? {};

export const isNone = (value: unknown): boolean => value === undefined || value === null || value === "";

export const first = (row: Json, ...names: readonly string[]): unknown =>
  names.map((name) => row[name]).find((value) => !isNone(value));

/** Texts, numbers and truth values as text; "": anything else. */
const plain = (value: unknown): string =>
  typeof value === "string" || typeof value === "boolean" || Number.isFinite(value) ? String(value) : "";

/** A name or id as text; null: none. */
export function nameOf(value: unknown): string | null {
  const text = plain(value);
  return text.trim() === "" ? null : text.toWellFormed();
}

export const firstName = (...values: readonly unknown[]): string | null =>
  values.map(nameOf).find((name) => name !== null) ?? null;

export function numberOf(value: unknown): number | null {
  const read = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof read === "number" && Number.isFinite(read) ? read : null;
}

/** From 0. */
export function amountOf(value: unknown): number | null {
  const read = numberOf(value);
  return read === null || read < 0 ? null : read;
}

/** Tokens or the like, from 0 to what a column holds. */
export function countOf(value: unknown): number | null {
  const read = amountOf(value);
  return read === null || read > mostCount ? null : Math.round(read);
}
export const mostCount = 2_147_483_647;

export const firstCount = (...values: readonly unknown[]): number | null =>
  values.map(countOf).find((count) => count !== null) ?? null;

export function booleanOf(value: unknown): boolean | null {
  const read = typeof value === "string" ? value.trim().toLowerCase() : value;
  if (read === true || read === "true" || read === 1 || read === "1") return true;
  return read === false || read === "false" || read === 0 || read === "0" ? false : null;
}

/** Milliseconds of a time in seconds, as a text or a number. */
export function milliseconds(seconds: unknown): number | null {
  const read = amountOf(seconds);
  return read === null ? null : Math.round(read * 1_000);
}

/** Milliseconds since the epoch of a time (default UTC) or a count of s, ms, µs, ns; else NaN. */
export function timeOf(value: unknown): number {
  const reported = typeof value === "string" ? value.trim() : value;
  const count = typeof reported === "number" ? reported : countIn(plain(reported));
  if (count !== undefined) {
    const unit = [1e11, 1e14, 1e17].findIndex((limit) => Math.abs(count) < limit);
    return Math.round([count * 1_000, count, count / 1e3][unit] ?? count / 1e6);
  }
  const [, day, clock = "00:00:00", zone = "Z"] =
    /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?))?\s*(Z|z|UTC|[+-]\d\d(?::?\d\d)?)?$/.exec(
      plain(reported),
    ) ?? [];
  if (day === undefined) return Number.NaN;
  const [sign = "+", hours = "00", minutes = "00"] = /^([+-])(\d\d):?(\d\d)?$/.exec(zone)?.slice(1) ?? [];
  return Date.parse(`${day}T${clock.replace(/(\.\d{3})\d+$/, "$1")}${sign}${hours}:${minutes}`);
}
const countIn = (text: string): number | undefined =>
  /^\d{9,19}(?:\.\d{1,9})?$/.test(text) ? Number(text) : undefined;

/** Milliseconds from one time to another; null: one is unknown, or they are in the wrong order. */
export function between(from: unknown, to: unknown): number | null {
  const wait = timeOf(to) - timeOf(from);
  return wait >= 0 ? wait : null;
}

/** Time in a UUID of version 7, in milliseconds since the epoch; null: another id. */
export function timeOfId(id: unknown): number | null {
  const [, high, low] = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-/i.exec(plain(id)) ?? [];
  return high === undefined || low === undefined ? null : Number.parseInt(high + low, 16);
}

/** As metadata holds it: texts as they are, all else as JSON. */
export function textsOf(value: unknown): Record<string, string> {
  return Object.fromEntries(
    Object.entries(membersOf(value)).flatMap(([name, one]) =>
      isNone(one) ? [] : [[name, typeof one === "string" ? one : JSON.stringify(one)]],
    ),
  );
}

/** Mean of the numbers and booleans within [0, 1]; others have no known scale. */
export function meanScore(values: readonly unknown[]): number | null {
  const known = values
    .map((one) => (typeof one === "boolean" ? Number(one) : numberOf(one)))
    .filter((one): one is number => one !== null && one >= 0 && one <= 1);
  return known.length === 0 ? null : known.reduce((sum, one) => sum + one, 0) / known.length;
}
