// Verified cases of a reuse arm in request order (docs/arms.md, reuse): requests that another arm
// answered, compared, and own answers rated badly. Good ratings don't count: raters select. Derived
// from rows alone. Rejects as ClickHouse does.
import { requestKey } from "../../algorithms/identity/identity.ts";
import { tokenF1 } from "../../algorithms/text/token-f1.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { ReuseCase } from "../learnt.ts";
import { slicesOf } from "../../algorithms/lists/lists.ts";

export interface ReuseTrialsOptions {
  arm: string;
  /** Token F1 below which the example's answer counts as wrong. */
  agreement: number;
  /** Milliseconds since the epoch: older cases don't count. */
  since: number;
}

export interface ReuseTrialsDependencies {
  clickhouse: Pick<ClickHouse, "query">;
  /** No request is under way for longer. */
  maxDeadlineMs: number;
  clock: () => number;
}

interface CaseRow {
  id: string;
  tenant: string;
  domain: string;
  at: number | string;
}
interface TextRow {
  id: string;
  tenant: string;
  kept: string;
  given: string;
}

/** Trials that are read of a sharing domain, the newest; and of all. */
const most = { domain: 5_000, all: 100_000 };
const batch = 500;
/** So long after its deadline record has certainly stored a response. */
const lagMs = 600_000;
/** Characters of a text that are compared. */
const head = 20_000;

const newest = "ORDER BY created_at DESC LIMIT {domainLimit:UInt32} BY domain LIMIT {limit:UInt32}";
const COMPARED = `
  SELECT request_id AS id, tenant, domain, toUnixTimestamp64Milli(created_at) AS at FROM decisions FINAL
  WHERE reuse_arm = {arm:String} AND reuse_verifies AND created_at >= fromUnixTimestamp64Milli({since:Int64}) ${newest}`;
const RATED = `
  SELECT request_id AS id, tenant, domain, toUnixTimestamp64Milli(created_at) AS at FROM reuse_hits
  WHERE arm = {arm:String} AND reward < 0.5 AND created_at >= fromUnixTimestamp64Milli({since:Int64}) ${newest}`;
const TEXTS = `
  SELECT decision.request_id AS id, decision.tenant AS tenant, leftUTF8(example.response, {head:UInt32}) AS kept,
         leftUTF8(response.text, {head:UInt32}) AS given
  FROM (
    SELECT request_id, tenant, domain, reuse_example FROM decisions FINAL
    WHERE request_id IN {ids:Array(String)} AND reuse_verifies
  ) AS decision
  INNER JOIN (
    SELECT request_id, tenant, text FROM responses FINAL
    WHERE request_id IN {ids:Array(String)} AND NOT duplicate AND status = 'ok' AND source IN ('generated', 'replayed')
  ) AS response ON response.request_id = decision.request_id AND response.tenant = decision.tenant
  INNER JOIN (
    SELECT example_id, domain, response FROM examples FINAL
    WHERE NOT deleted AND (domain, example_id) IN (
      SELECT domain, reuse_example FROM decisions FINAL WHERE request_id IN {ids:Array(String)} AND reuse_verifies
    )
  ) AS example ON example.example_id = decision.reuse_example AND example.domain = decision.domain
  SETTINGS distributed_product_mode = 'local'`;

export function createReuseTrials({ clickhouse, maxDeadlineMs, clock }: ReuseTrialsDependencies) {
  let compared = new Map<string, number>();

  return async function reuseTrials({ arm, agreement, since }: ReuseTrialsOptions): Promise<ReuseCase[]> {
    const parameters = { arm, since: Math.floor(since), domainLimit: most.domain, limit: most.all };
    const cases = await clickhouse.query<CaseRow>(COMPARED, parameters);
    const rated = await clickhouse.query<CaseRow>(RATED, parameters);
    const keyOf = ({ tenant, id }: { tenant: string; id: string }): string => requestKey(tenant, id);
    const wanted = new Set(cases.map(keyOf));
    compared = new Map([...compared].filter(([key]) => wanted.has(key)));
    // One that has failed, or whose example is gone, is never compared: not looked for for ever.
    const open = cases.filter((one) => !compared.has(keyOf(one)) && Number(one.at) > clock() - maxDeadlineMs - lagMs);
    for (const some of slicesOf(open, batch)) {
      const rows = await clickhouse.query<TextRow>(TEXTS, { ids: some.map(({ id }) => id), head });
      for (const row of rows) compared.set(keyOf(row), tokenF1(row.given, row.kept));
    }
    const verified = cases.flatMap((one): ReuseCase[] => {
      const both = compared.get(keyOf(one));
      return both === undefined ? [] : [caseOf(one, both < agreement)];
    });
    return [...verified, ...rated.map((one) => caseOf(one, true))].sort(
      (one, other) => one.at - other.at || (one.id < other.id ? -1 : one.id > other.id ? 1 : 0),
    );
  };
}

const caseOf = ({ id, domain, at }: CaseRow, wrong: boolean): ReuseCase => ({ id, domain, at: Number(at), wrong });
