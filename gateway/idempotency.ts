// The id of a request: a new one, or the one that a client's Idempotency-Key stands for, so that a
// request that is sent again is the same request (operators/deduplicate answers it by the first
// response). A key belongs to its tenant.
import { createHash } from "node:crypto";
import { v7 as uuid } from "uuid";
import { badRequest } from "./errors.ts";

/** Throws ApiError. */
export function requestIdFor(tenant: string, key: string | undefined): string {
  if (key === undefined) return uuid();
  if (key === "" || key.length > 255 || !/^[\x21-\x7e]+$/.test(key))
    throw badRequest("An Idempotency-Key has 1 to 255 visible ASCII characters.", "Idempotency-Key");
  const hash = createHash("sha256").update(JSON.stringify(["idempotency", tenant, key]));
  return `idem-${hash.digest("hex").slice(0, 32)}`;
}
