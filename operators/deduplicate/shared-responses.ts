// One look-up serves all repeats of an id: hundreds of them may wait for the same first response,
// and each would ask ClickHouse for it.
import { LRUCache } from "lru-cache";
import { requestKey } from "../../algorithms/identity/identity.ts";
import type { FirstResponses, FoundResponse } from "./first-responses.ts";

interface Look {
  found: Promise<FoundResponse | null>;
  /** When it was asked, milliseconds since the epoch. */
  at: number;
}

/** What was found so lately is not asked again; a response never changes once it is there. */
const freshMs = 500;
/** Requests whose responses were looked for lately. */
const limit = 4_096;

export function createSharedResponses(responses: FirstResponses): FirstResponses {
  const looks = new LRUCache<string, Look>({ max: limit });
  return {
    find(tenant, requestId, now) {
      const key = requestKey(tenant, requestId);
      const last = looks.get(key);
      if (last !== undefined && Math.abs(now - last.at) < freshMs) return last.found;
      const found = responses.find(tenant, requestId, now);
      const look = { found, at: now };
      looks.set(key, look);
      found.catch(() => {
        if (looks.get(key) === look) looks.delete(key);
      });
      return found;
    },
  };
}
