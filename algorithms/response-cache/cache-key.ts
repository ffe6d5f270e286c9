// Key of a request in the response cache: all of the request but what is named here as irrelevant,
// so that new fields count, and the configuration that changes the answer. Pure.
import { hash } from "node:crypto";
import { isObject } from "../text/json-shape.ts";
import type { Request } from "../../schemas/types.ts";

export interface AnsweringArm {
  name: string;
  model: string;
  /** Name and version. */
  template: string;
  /** All else that is configured of it and may change an answer, its system prompt for one. */
  settings: string;
}

export interface Asked {
  request: Request;
  domain: string;
  /** Version of the router that a variant of an experiment names; absent: none does. */
  routerVersion?: number | undefined;
  /** Those in force; the ones that the request does not allow do not count. */
  arms: readonly AnsweringArm[];
  /** Digest of the current texts of the documents that the request names. */
  documents: string;
}

/** In a request's metadata; all else in there is the client's own. */
const LINK_POLICY = "link-policy";

/** sha256 (hex). */
export function cacheKey({ request, domain, routerVersion, arms, documents }: Asked): string {
  // Not part of the key: ids, times, accounts and destinations. Whether an answer may be cached is
  // decided before there is a key.
  const { messages, allow, metadata, ...rest } = without(request, [
    ...([
      "id",
      "createdAt",
      "account",
      "replyPartition",
      "deltas",
      "mayAsk",
      "mayCompare",
      "privacy",
      "batchUntil",
    ] as const),
    // In `domain`.
    ...(["tenant", "domain"] as const),
  ]);
  const { arms: allowed, ...limits } = without(allow, ["deadlineMs"]);
  const eligible = arms
    .filter(({ name }) => allowed === null || allowed.includes(name))
    .map(({ name, model, template, settings }) => [name, model, template, settings])
    .sort(([one], [other]) => (String(one) < String(other) ? -1 : 1));
  const canonical = [
    // Version of this layout.
    2,
    domain,
    messages,
    [allowed === null ? null : [...new Set(allowed)].sort(), limits],
    metadata[LINK_POLICY] ?? null,
    rest,
    eligible,
    documents,
    ...(routerVersion === undefined ? [] : [{ routerVersion }]),
  ];
  return hash("sha256", stableJson(canonical));
}

function without<T extends object, K extends keyof T>(record: T, fields: readonly K[]): Omit<T, K> {
  const left = Object.entries(record).filter(([field]) => !fields.includes(field as K));
  return Object.fromEntries(left) as Omit<T, K>;
}

/** The same for the same content, in whatever order its fields were set. */
const stableJson = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1))) : part,
  );

/** Digest of an ordered list of texts; "" for an empty list. */
export const digestOf = (texts: readonly string[]): string =>
  texts.length === 0 ? "" : hash("sha256", JSON.stringify(texts));
