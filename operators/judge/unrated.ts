// What the automatic judge compares next: a share of unrated answers by hash, with an alternative
// or an arm that gives one. Nothing private or erased. Rejects as the ClickHouse port does.
import { withheldText } from "../../algorithms/privacy/mask.ts";
import { fairAgenda } from "../../algorithms/queueing/fair-agenda.ts";
import { erasedRequestSql } from "../../algorithms/privacy/erasure.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Message } from "../../schemas/types.ts";
import { ofJudge } from "./feedback-id.ts";

export interface Unrated {
  requestId: string;
  tenant: string;
  messages: Message[];
  arm: string;
  text: string;
  otherArm: string;
  /** null: the other arm has not been asked yet. */
  otherText: string | null;
  maxTokens: number | null;
}

export interface Judgement {
  request_id: string;
  tenant: string;
  arm: string;
  other_arm: string;
  other: "alternative" | "generated";
  judge: string;
  probability: number;
  score: number | null;
  tokens: number;
  cost: number;
  judged_at: number;
}

export interface UnratedSettings {
  arm: string;
  reference?: string | undefined;
  share: number;
  afterMinutes: number;
  perHour: number;
  perTenantHour: number;
  spendLimit?: number | undefined;
}

export interface JudgingAgenda {
  items: Unrated[];
  spent: { cost: number; lastHour: number };
  /** Mean of the judgements of the last 24 hours; null: none are known. */
  meanCost: number | null;
  /** The setting by which nothing is drawn now; null: none. */
  usedUp: "perHour" | "spendLimit" | null;
}

const hourMs = 3_600_000;
const windowMs = 24 * hourMs;
/** Read at a time; those that are judged make room for others. */
const most = 500;
/** Characters of an answer, bytes of a conversation: longer ones are not judged. */
const longest = { answer: 16_000, conversation: 32_000 };

const same = (one: string, other: string): string =>
  `${one}.request_id = ${other}.request_id AND ${one}.tenant = ${other}.tenant`;
// The judge's own feedback without its judgement is of a process that was killed between the two.
const unjudged = `(request_id, tenant) NOT IN (
      SELECT request_id, tenant FROM feedback WHERE NOT (source = 'judge' AND startsWith(feedback_id, '${ofJudge}'))
    )
    AND (request_id, tenant) NOT IN (SELECT request_id, tenant FROM judgements)`;
const drawn = `
  created_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC') AND created_at < fromUnixTimestamp64Milli({until:Int64}, 'UTC')
    AND status = 'ok' AND source = 'generated' AND NOT duplicate AND arm IS NOT NULL AND empty(failed_arms) AND empty(passthrough)
    AND lengthUTF8(text) <= ${longest.answer} AND text != '${withheldText}' AND sipHash64('judge', toString(tenant), request_id) / pow(2, 64) < {share:Float64}
    AND ${unjudged}`;
const ofDrawn = `(request_id, tenant) IN (SELECT request_id, tenant FROM responses WHERE ${drawn})`;

const selectUnrated = `
SELECT
  answer.request_id AS requestId, answer.tenant AS tenant, request.messages AS messages, request.max_tokens AS maxTokens,
  answer.arm AS arm, answer.text AS text, if(other.arm != '', other.arm, {reference:String}) AS otherArm,
  if(other.arm != '', toNullable(other.text), NULL) AS otherText
FROM (SELECT request_id, tenant, assumeNotNull(arm) AS arm, text FROM responses FINAL WHERE ${drawn}) AS answer
INNER JOIN (
  SELECT request_id, tenant, messages, documents, max_tokens FROM requests FINAL
  WHERE privacy_cache AND privacy_share AND empty(passthrough)
    AND arraySum(message -> length(message.content), messages) <= ${longest.conversation}
    AND NOT arrayExists(message -> message.content = '${withheldText}', messages) AND ${ofDrawn}
) AS request ON ${same("request", "answer")}
INNER JOIN (
  SELECT request_id, tenant, arm, arms.arm AS names FROM decisions FINAL WHERE ${ofDrawn}
) AS decision ON ${same("decision", "answer")}
LEFT JOIN (
  SELECT request_id, tenant, assumeNotNull(arm) AS arm, text FROM alternative_answers FINAL
  WHERE status = 'ok' AND NOT duplicate AND arm IS NOT NULL AND empty(passthrough)
    AND lengthUTF8(text) <= ${longest.answer} AND text != '${withheldText}' AND ${ofDrawn}
) AS other ON ${same("other", "answer")}
WHERE decision.arm = answer.arm AND otherArm != '' AND otherArm != answer.arm AND has(decision.names, otherArm)
  AND (other.arm != '' OR empty(request.documents))
  AND answer.arm != {judge:String} AND otherArm != {judge:String}
ORDER BY sipHash64('judge', toString(answer.tenant), answer.request_id), answer.tenant, answer.request_id
LIMIT {perTenant:UInt32} BY answer.tenant
LIMIT ${most}
SETTINGS distributed_product_mode = 'local'`;

const selectSpent = `
SELECT tenant, countIf(judged_at >= fromUnixTimestamp64Milli({hour:Int64}, 'UTC')) AS lastHour, count() AS judged, sum(cost) AS cost
FROM judgements FINAL WHERE judged_at >= fromUnixTimestamp64Milli({day:Int64}, 'UTC') GROUP BY tenant`;

interface SpentRow {
  tenant: string;
  lastHour: number | string;
  judged: number | string;
  cost: number;
}

export async function readUnrated(
  clickhouse: Pick<ClickHouse, "query">,
  settings: UnratedSettings,
  now: number,
): Promise<JudgingAgenda> {
  const { arm, reference = "", share, afterMinutes, perHour, perTenantHour } = settings;
  const spent = await clickhouse.query<SpentRow>(selectSpent, { hour: now - hourMs, day: now - 24 * hourMs });
  const sum = (of: (row: SpentRow) => number): number => spent.reduce((total, row) => total + of(row), 0);
  const [judged, cost, lastHour] = [
    sum((row) => Number(row.judged)),
    sum((row) => row.cost),
    sum((row) => Number(row.lastHour)),
  ];
  const { spendLimit = Infinity } = settings;
  const usedUp = lastHour >= perHour ? "perHour" : cost >= spendLimit ? "spendLimit" : null;
  const rows =
    usedUp !== null
      ? []
      : await clickhouse.query<Unrated>(selectUnrated, {
          ...{ since: now - windowMs, until: now - Math.round(afterMinutes * 60_000) },
          ...{ share, reference, judge: arm, perTenant: Math.min(perTenantHour, most) },
        });
  const taken = new Map(spent.map((row) => [row.tenant, Number(row.lastHour)]));
  return {
    items: fairAgenda(rows, ({ tenant }) => tenant, taken, { all: perHour, each: perTenantHour }),
    spent: { cost, lastHour },
    meanCost: judged === 0 ? null : cost / judged,
    usedUp,
  };
}

/** Whether the answer is still unrated, and its request not erased. */
export async function isUnrated(
  clickhouse: Pick<ClickHouse, "query">,
  { requestId, tenant }: Pick<Unrated, "requestId" | "tenant">,
): Promise<boolean> {
  const rows = await clickhouse.query(
    `SELECT 1 FROM requests FINAL WHERE request_id = {requestId:String} AND tenant = {tenant:String} AND ${unjudged}
       AND ${erasedRequestSql("tenant", "request_id")} GLOBAL NOT IN (SELECT hash FROM erasures)
     LIMIT 1 SETTINGS distributed_product_mode = 'local'`,
    { requestId, tenant },
  );
  return rows.length > 0;
}
