// Who may read the page's data: without API keys callers on this machine as localhost, with keys
// admin keys. Pages of other sites may nothing.
import type { Incoming, MustBeAdmin } from "../access.ts";
import { ApiError } from "../errors.ts";

/** Throws ApiError. */
export type MayLook = (incoming: Incoming) => void;

export function createMayLook(mustBeAdmin: MustBeAdmin): MayLook {
  return function mayLook(incoming) {
    mustBeAdmin(incoming);
    fromThisSite(incoming);
  };
}

/** Throws ApiError where a browser says that another site asks. */
function fromThisSite({ headers }: Incoming): void {
  const site = headers["sec-fetch-site"];
  const { origin } = headers;
  if ((site === undefined || site === "same-origin" || site === "none") && (origin === undefined || isOwn(headers)))
    return;
  throw new ApiError({ status: 403, code: "cross_site", message: "Only the page itself may ask this." });
}

/** What changes something needs the origin: browsers send it with every POST. Throws ApiError. */
export function sameOrigin({ headers }: Incoming): void {
  if (isOwn(headers)) return;
  throw new ApiError({
    ...{ status: 403, code: "cross_site" },
    message: "What changes something needs the header Origin of the page itself.",
  });
}

function isOwn({ origin, host }: Incoming["headers"]): boolean {
  if (typeof origin !== "string" || typeof host !== "string") return false;
  // TLS may end in front of the gateway.
  return origin === `http://${host}` || origin === `https://${host}`;
}
