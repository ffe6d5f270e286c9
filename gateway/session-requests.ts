// Shares the outcome of a session over its routed requests, newest first, as recorded.
import { sharingDomain } from "../algorithms/identity/identity.ts";
import type { ClickHouse } from "../connections/clickhouse/port.ts";
import type { Feedback } from "../schemas/types.ts";
import type { Caller } from "./access.ts";
import { ApiError } from "./errors.ts";
import type { LookUp } from "./lookups.ts";

/** The outcome of a longer session is shared over its newest requests. */
const mostRequests = 256;
const days = 7;

export interface SessionDependencies {
  clickhouse: Pick<ClickHouse, "query">;
  lookUp: LookUp;
}

/**
 * The outcome of a session as feedback on each of its requests. All have the same id, by which the
 * whole can be withdrawn. Rejects with ApiError: 404 where nothing of the session is recorded.
 */
export async function sharedFeedback(
  outcome: Feedback & { session: string },
  { tenant, domains }: Pick<Caller, "tenant" | "domains">,
  { clickhouse, lookUp }: SessionDependencies,
): Promise<Feedback[]> {
  const allowed = (domains ?? []).map((domain) => sharingDomain(tenant, domain));
  const rows =
    domains?.length === 0
      ? []
      : await lookUp(() =>
          clickhouse.query<{ id: string }>(statement, { tenant, session: outcome.session, domains: allowed }),
        );
  if (rows.length === 0) throw unknown(outcome.session);
  return rows.map(({ id }) => ({ ...outcome, requestId: id, sessionRequests: rows.length }));
}

const ofSession = `
  SELECT request_id, tenant FROM requests FINAL
  WHERE session = {session:String} AND tenant = {tenant:String} AND created_at > now() - INTERVAL ${days} DAY
    AND (empty({domains:Array(String)}) OR has({domains:Array(String)}, domain))`;
const statement = `
  SELECT request_id AS id FROM decisions FINAL
  WHERE (request_id, tenant) IN (${ofSession}) AND source = 'routed'
  ORDER BY created_at DESC, request_id LIMIT ${mostRequests}
  SETTINGS distributed_product_mode = 'local'`;

const unknown = (session: string): ApiError =>
  new ApiError({
    ...{ status: 404, code: "session_not_found", param: "session" },
    message: `No routed request of the session '${session.slice(0, 80)}' is recorded in the last ${days} days. Recording takes about a second.`,
  });
