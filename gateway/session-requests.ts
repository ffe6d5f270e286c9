// Shares the outcome of a session over its routed requests, newest first, as recorded.
import { sharingDomain } from "../algorithms/identity/identity.ts";
import { pseudonym } from "../algorithms/privacy/placeholders.ts";
import type { ClickHouse } from "../connections/clickhouse/port.ts";
import type { Feedback } from "../schemas/types.ts";
import type { Caller } from "./caller.ts";
import { ApiError } from "./errors.ts";
import type { LookUp } from "./lookups.ts";

/** The outcome of a longer session is shared over its newest requests. */
const mostRequests = 256;
const days = 7;

export interface SessionDependencies {
  clickhouse: Pick<ClickHouse, "query">;
  lookUp: LookUp;
  /** privacy.redact.secret, where the tables may have pseudonyms of sessions. */
  redactSecret?: string | undefined;
}

/**
 * The outcome of a session as feedback on each of its requests. All have the same id, by which the
 * whole can be withdrawn. Rejects with ApiError: 404 where nothing of the session is recorded.
 */
export async function sharedFeedback(
  outcome: Feedback & { session: string },
  { tenant, domains }: Pick<Caller, "tenant" | "domains">,
  { clickhouse, lookUp, redactSecret }: SessionDependencies,
): Promise<Feedback[]> {
  const { session, withdraws } = outcome;
  const allowed = (domains ?? []).map((domain) => sharingDomain(tenant, domain));
  const redacted = redactSecret === undefined ? session : pseudonym(redactSecret, "session", session);
  const find = (text: string, more = {}): Promise<{ id: string }[]> =>
    domains?.length === 0
      ? Promise.resolve([])
      : lookUp(() => clickhouse.query<{ id: string }>(text, { tenant, session, redacted, domains: allowed, ...more }));
  const rows = await find(ofNewest);
  const ids = new Set(rows.map(({ id }) => id));
  // The session may have grown since: what was given to its older requests is withdrawn, too.
  const before = withdraws === null ? [] : (await find(ofOutcome, { withdraws })).filter(({ id }) => !ids.has(id));
  if (rows.length + before.length === 0) throw unknown(session);
  return [
    ...rows.map(({ id }) => ({ ...outcome, requestId: id, sessionRequests: rows.length })),
    ...before.map(({ id }) => ({ ...outcome, requestId: id, value: null, sessionRequests: rows.length || 1 })),
  ];
}

const inDomains = "(empty({domains:Array(String)}) OR has({domains:Array(String)}, domain))";
const ofSession = `
  SELECT request_id, tenant FROM requests FINAL
  WHERE session IN ({session:String}, {redacted:String}) AND tenant = {tenant:String} AND created_at > now() - INTERVAL ${days} DAY
    AND ${inDomains}`;
const ofNewest = `
  SELECT request_id AS id FROM decisions FINAL
  WHERE (request_id, tenant) IN (${ofSession}) AND source = 'routed'
  ORDER BY created_at DESC, request_id LIMIT ${mostRequests}
  SETTINGS distributed_product_mode = 'local'`;

/** Given once more under the same id it may be on more than the newest. */
const ofOutcome = `
  SELECT request_id AS id FROM requests FINAL
  WHERE tenant = {tenant:String} AND ${inDomains} AND (request_id, tenant) IN (
    SELECT request_id, tenant FROM feedback
    WHERE tenant = {tenant:String} AND session IN ({session:String}, {redacted:String}) AND feedback_id = {withdraws:String}
    ORDER BY created_at DESC LIMIT ${4 * mostRequests})
  SETTINGS distributed_product_mode = 'local'`;

const unknown = (session: string): ApiError =>
  new ApiError({
    ...{ status: 404, code: "session_not_found", param: "session" },
    message: `No routed request of the session '${session.slice(0, 80)}' is recorded in the last ${days} days. Recording takes about a second.`,
  });
