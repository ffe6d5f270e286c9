// Durations of chosen arms: as logged, else by service times fitted to the replay's log, or the
// live one where that has too few. Without queueing.
import { drawnService, type CallSize } from "../../algorithms/queueing/arm-queues/service-times.ts";
import { quantilesOf } from "../../algorithms/numeric/quantile.ts";
import { growing } from "../../algorithms/off-policy/log.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { promptTokens, sizes, timesOfLive, timesOfLog, type ArmTimes } from "./arm-times.ts";

export interface ServiceReport {
  /** Requests whose time was logged, and those whose time comes from the fit. */
  logged: number;
  fitted: number;
  p50Ms: number | null;
  p99Ms: number | null;
  firstTokenP50Ms: number | null;
}

export interface ServiceSource {
  clickhouse: Pick<ClickHouse, "query">;
  /** Where the arms answer; absent: not asked. */
  live?: Pick<ClickHouse, "query"> | undefined;
  lane: string;
  log: string;
}

interface Chosen {
  arm: string;
  /** null: the log holds no answer of this arm. */
  prompt: number | null;
  completion: number | null;
  first_ms: number | null;
  service_ms: number | null;
  /** Most prompt tokens among the request's own logged answers, whatever their arm. */
  own_prompt: number | null;
}
const pageSize = 50_000;
const selectChosen = ({ lane, log }: ServiceSource): string => `
  SELECT decision.arm AS arm, known.prompt AS prompt, known.completion AS completion, known.first_ms AS first_ms,
    known.service_ms AS service_ms, own.prompt AS own_prompt
  FROM (SELECT ordinal, request_id, tenant FROM ${log}.log_requests WHERE ordinal >= {from:UInt64} AND ordinal < {to:UInt64}) AS asked
  INNER JOIN (SELECT request_id, tenant, arm FROM ${lane}.decisions FINAL) AS decision
    ON decision.request_id = asked.request_id AND decision.tenant = asked.tenant
  LEFT JOIN (SELECT ordinal, arm, ${sizes} FROM ${log}.log_answers WHERE has_text AND ordinal >= {from:UInt64} AND ordinal < {to:UInt64}) AS known
    ON known.ordinal = asked.ordinal AND known.arm = decision.arm
  LEFT JOIN (
    SELECT ordinal, max(${promptTokens}) AS prompt FROM ${log}.log_answers
    WHERE own AND ordinal >= {from:UInt64} AND ordinal < {to:UInt64} GROUP BY ordinal
  ) AS own ON own.ordinal = asked.ordinal
  ORDER BY asked.ordinal SETTINGS join_use_nulls = 1`;

/** By arm that the policy chose. */
export async function serviceReports(source: ServiceSource, requests: number): Promise<Map<string, ServiceReport>> {
  const { clickhouse, log, live } = source;
  const models = await timesOfLog(clickhouse, log);
  let liveModels: Map<string, ArmTimes> | undefined;
  const modelOf = async (arm: string): Promise<ArmTimes | undefined> => {
    if (models.has(arm) || live === undefined) return models.get(arm);
    liveModels ??= await timesOfLive(live);
    return liveModels.get(arm);
  };
  const random = splitmix64(1);
  const times = new Map<string, ReturnType<typeof collected>>();
  for (let from = 0; from < requests; from += pageSize) {
    const rows = await clickhouse.query<Chosen>(selectChosen(source), { from, to: from + pageSize });
    for (const row of rows) {
      const of = times.get(row.arm) ?? collected();
      times.set(row.arm, of);
      const draw = random();
      if (row.service_ms !== null && row.service_ms > 0) of.add(row.service_ms, row.first_ms, true);
      else {
        const model = await modelOf(row.arm);
        if (model === undefined) continue;
        const { firstMs, totalMs } = drawnService(model.times, sizeOf(row, model), draw);
        of.add(totalMs, model.times.first === null ? null : firstMs, false);
      }
    }
  }
  return new Map([...times].map(([arm, of]) => [arm, of.report()]));
}

/** What is not known of a request is as it is on average. */
function sizeOf({ prompt, completion, own_prompt: own }: Chosen, { mean }: ArmTimes): CallSize {
  const typical = mean.computed + mean.reused;
  const tokens = prompt || own || typical;
  const reused = typical > 0 ? (tokens * mean.reused) / typical : 0;
  return { reused, computed: tokens - reused, completion: completion || mean.completion };
}

function collected() {
  const total = growing((length) => new Float64Array(length));
  const first = growing((length) => new Float64Array(length));
  let [logged, fitted] = [0, 0];
  return {
    add(totalMs: number, firstMs: number | null, fromLog: boolean): void {
      total.push(totalMs);
      if (firstMs !== null) first.push(firstMs);
      if (fromLog) logged++;
      else fitted++;
    },
    report(): ServiceReport {
      const finite = (value: number | undefined): number | null =>
        value !== undefined && Number.isFinite(value) ? value : null;
      const [p50, p99] = quantilesOf(total.done(), [0.5, 0.99]);
      const [firstTokenP50] = quantilesOf(first.done(), [0.5]);
      return { logged, fitted, p50Ms: finite(p50), p99Ms: finite(p99), firstTokenP50Ms: finite(firstTokenP50) };
    },
  };
}
