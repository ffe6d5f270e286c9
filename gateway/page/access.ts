// Who may read the page's data: without API keys callers on this machine as localhost, with keys
// admin keys. Pages of other sites may nothing.
import type { Incoming } from "../caller.ts";
import type { MustBeAdmin } from "../access.ts";
import { ApiError } from "../errors.ts";
import { fromThisSite, isOwn } from "../local.ts";

/** Throws ApiError. */
export type MayLook = (incoming: Incoming) => void;

export function createMayLook(mustBeAdmin: MustBeAdmin): MayLook {
  return function mayLook(incoming) {
    mustBeAdmin(incoming);
    fromThisSite(incoming);
  };
}

/** What changes something needs the origin: browsers send it with every POST. Throws ApiError. */
export function sameOrigin({ headers }: Incoming): void {
  if (isOwn(headers)) return;
  throw new ApiError({
    ...{ status: 403, code: "cross_site" },
    message:
      "What changes something needs the header Origin of the page itself; a proxy before the gateway must pass the header Host on.",
  });
}
