// Report of a log replay for one policy. Quality twice: mean logged reward, which favours frequent
// arms, and the self-normalised estimate (docs/off-policy.md).
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { serviceReports, type ServiceReport } from "./service-times.ts";

export interface ArmReport {
  arm: string;
  requests: number;
  /** Fraction of all decided requests, [0, 1]. */
  share: number;
  /** The log holds no answer of it, and no model was asked. */
  notRecorded: number;
  failed: number;
  rewarded: number;
  quality: number | null;
  meanCost: number | null;
  p50Ms: number | null;
  p99Ms: number | null;
  firstTokenP50Ms: number | null;
  /** How long its calls take, fitted where the log holds no time of it for a request. */
  service: ServiceReport;
}

export interface PolicyReport {
  requests: number;
  decided: number;
  /** Refused before an arm was chosen, by code. */
  refused: Record<string, number>;
  notRecorded: number;
  /** The arm of the log was chosen; of the requests whose arm is known. */
  sameArm: number | null;
  degraded: number;
  rewarded: number;
  quality: number | null;
  /** Estimated value by the logged propensities, half the width of its 95 % interval, decisions. */
  estimate: { value: number | null; reach: number | null; decisions: number; effective: number | null };
  meanCost: number | null;
  totalCost: number;
  arms: ArmReport[];
  /** Hash of the decisions, independent of their order. */
  fingerprint: string;
}

/** Both databases lie on the same server. */
export interface ReportSource {
  clickhouse: Pick<ClickHouse, "query">;
  /** Live database: its service times replace those that the log lacks; absent: no replacement. */
  live?: Pick<ClickHouse, "query">;
  lane: string;
  log: string;
}

const settings = "SETTINGS join_use_nulls = 1";
/** Every request with its decision, its response, and what the log holds for the chosen arm. */
const outcome = ({ lane, log }: ReportSource): string => `
  SELECT asked.ordinal AS ordinal, asked.request_id AS request_id, asked.tenant AS tenant,
    decision.arm AS arm, decision.arms AS arms, decision.degraded AS degraded,
    response.status AS status, response.error_code AS error_code, response.source AS source, response.cost AS cost,
    response.first_token_ms AS first_token_ms, response.total_ms AS total_ms,
    known.reward AS reward, known.has_text AS has_text
  FROM ${log}.log_requests AS asked
  LEFT JOIN (SELECT * FROM ${lane}.decisions FINAL) AS decision
    ON decision.request_id = asked.request_id AND decision.tenant = asked.tenant
  LEFT JOIN (SELECT * FROM ${lane}.responses FINAL WHERE NOT duplicate) AS response
    ON response.request_id = asked.request_id AND response.tenant = asked.tenant
  LEFT JOIN ${log}.log_answers AS known ON known.ordinal = asked.ordinal AND known.arm = decision.arm`;

interface Summary {
  requests: number;
  decided: number;
  not_recorded: number;
  degraded: number;
  rewarded: number;
  quality: number | null;
  mean_cost: number | null;
  total_cost: number;
  fingerprint: string;
}

const finite = (value: number | null): number | null => (value !== null && Number.isFinite(value) ? value : null);

export async function policyReport(source: ReportSource): Promise<PolicyReport> {
  const { clickhouse, lane, log } = source;
  const query = async <Row>(sql: string): Promise<Row[]> => clickhouse.query<Row>(`${sql} ${settings}`);
  // The reward of an answer of a live arm is not in the log.
  const heard = "status = 'ok' AND source = 'replayed' AND has_text AND reward IS NOT NULL";
  const [sums] = await query<Summary>(`
    SELECT count() AS requests, countIf(arm IS NOT NULL) AS decided, countIf(error_code = 'not_recorded') AS not_recorded,
      countIf(notEmpty(degraded)) AS degraded, countIf(${heard}) AS rewarded, avgOrNullIf(reward, ${heard}) AS quality,
      avgOrNullIf(cost, status = 'ok') AS mean_cost, sumIf(cost, status = 'ok') AS total_cost,
      hex(groupBitXor(sipHash64(ordinal, arm, arms.arm, arrayMap(p -> toInt64(round(p * 1e9)), arms.probability)))) AS fingerprint
    FROM (${outcome(source)})`);
  const arms = await query<Omit<ArmReport, "share" | "service">>(`
    SELECT arm, count() AS requests, countIf(error_code = 'not_recorded') AS notRecorded,
      countIf(status != 'ok' AND error_code != 'not_recorded') AS failed,
      countIf(${heard}) AS rewarded, avgOrNullIf(reward, ${heard}) AS quality, avgOrNullIf(cost, status = 'ok') AS meanCost,
      quantileExactIfOrNull(0.5)(total_ms, status = 'ok') AS p50Ms, quantileExactIfOrNull(0.99)(total_ms, status = 'ok') AS p99Ms,
      quantileExactIfOrNull(0.5)(first_token_ms, status = 'ok' AND first_token_ms IS NOT NULL) AS firstTokenP50Ms
    FROM (${outcome(source)}) WHERE arm IS NOT NULL GROUP BY arm ORDER BY requests DESC, arm`);
  const refusals = await query<{ code: string; count: number }>(`
    SELECT ifNull(error_code, 'unanswered') AS code, count() AS count FROM (${outcome(source)}) WHERE arm IS NULL GROUP BY code ORDER BY code`);
  const [known] = await query<{ same: number | null }>(`
    SELECT avgOrNull(decision.arm = known.arm) AS same
    FROM (SELECT ordinal, any(arm) AS arm FROM ${log}.log_answers WHERE own GROUP BY ordinal HAVING count() = 1) AS known
    INNER JOIN ${log}.log_requests AS asked ON asked.ordinal = known.ordinal
    INNER JOIN (SELECT request_id, tenant, arm FROM ${lane}.decisions FINAL) AS decision
      ON decision.request_id = asked.request_id AND decision.tenant = asked.tenant`);
  const [estimate] = await query<PolicyReport["estimate"]>(estimateOf(source));
  // Rewards that are all equal show no spread: what is left is rounding.
  const reach = finite(estimate?.reach ?? null) ?? 0;
  const { decided = 0, requests = 0 } = sums ?? {};
  const services = await serviceReports(source, requests);
  const unknown = { logged: 0, fitted: 0, p50Ms: null, p99Ms: null, firstTokenP50Ms: null };
  return {
    ...{ requests, decided, notRecorded: sums?.not_recorded ?? 0 },
    refused: Object.fromEntries(refusals.map(({ code, count }) => [code, count])),
    ...{ sameArm: finite(known?.same ?? null), degraded: sums?.degraded ?? 0 },
    ...{ rewarded: sums?.rewarded ?? 0, quality: finite(sums?.quality ?? null) },
    estimate: {
      ...{ value: finite(estimate?.value ?? null), reach: reach > 1e-7 ? reach : null },
      ...{ decisions: estimate?.decisions ?? 0, effective: finite(estimate?.effective ?? null) },
    },
    ...{ meanCost: finite(sums?.mean_cost ?? null), totalCost: sums?.total_cost ?? 0 },
    arms: arms.map((row) => ({
      ...{ ...row, share: row.requests / Math.max(1, decided) },
      service: services.get(row.arm) ?? unknown,
    })),
    fingerprint: sums?.fingerprint ?? "",
  };
}

/** snips over the logged decisions, weights clipped at 100; its reach by the delta method. */
const estimateOf = ({ lane, log }: ReportSource): string => `
  SELECT decisions, snips AS value, pow(weights, 2) / nullIf(square_weights, 0) AS effective,
    1.959963984540054 * sqrt(greatest(0, square_terms - 2 * snips * square_weights_reward + snips * snips * square_weights)
      * decisions / nullIf(decisions - 1, 0)) / weights AS reach
  FROM (
    SELECT count() AS decisions, sum(weight) AS weights, sum(weight * reward) / nullIf(weights, 0) AS snips,
      sum(weight * weight * reward * reward) AS square_terms, sum(weight * weight * reward) AS square_weights_reward,
      sum(weight * weight) AS square_weights
    FROM (
      SELECT known.reward AS reward,
        least(100, if(indexOf(decision.arms.arm, known.arm) = 0, 0, decision.arms.probability[indexOf(decision.arms.arm, known.arm)]) / known.propensity) AS weight
      FROM (SELECT * FROM ${log}.log_answers WHERE own AND reward IS NOT NULL AND propensity > 0) AS known
      INNER JOIN ${log}.log_requests AS asked ON asked.ordinal = known.ordinal
      INNER JOIN (SELECT request_id, tenant, arms FROM ${lane}.decisions FINAL) AS decision
        ON decision.request_id = asked.request_id AND decision.tenant = asked.tenant
    )
  )`;
