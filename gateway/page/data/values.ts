// Off-policy comparison (docs/off-policy.md): the choices beside each arm taken always, and saved
// evaluations. It reads the newest rated decisions, so that its time does not grow with the log.
import { rivalOf, type Rival, type RivalSums } from "../../../algorithms/off-policy/rival.ts";
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import type { PolicyValues } from "./types/policies.ts";

type Reader = Pick<ClickHouse, "query">;

const mostRows = 100;
const mostRated = 20_000;

export async function readValues(clickhouse: Reader): Promise<PolicyValues> {
  const [evaluations, arms] = await Promise.all([
    clickhouse.query<PolicyValues["evaluations"][number]>(
      `SELECT evaluation, policy, toUnixTimestamp64Milli(evaluated_at) AS at, dr, dr_reach AS drReach,
         decisions, ips, snips, snips_reach AS snipsReach, effective, unsupported
       FROM policy_value_evaluations ORDER BY at DESC, snips DESC, policy LIMIT ${mostRows}`,
    ),
    readArms(clickhouse),
  ]);
  return {
    evaluations: evaluations.map((row) => ({ ...row, snipsReach: real(row.snipsReach), drReach: real(row.drReach) })),
    arms,
  };
}

const real = (value: number | null): number | null => (value !== null && Number.isFinite(value) ? value : null);

interface ArmSums extends RivalSums {
  arm: string;
  decisions: number;
  unsupported: number;
}

/** The most rewarding first. */
async function readArms(clickhouse: Reader): Promise<PolicyValues["arms"]> {
  const [[isAsked], costs] = await Promise.all([
    clickhouse.query<object>(`SELECT 1 FROM decisions WHERE ${recent} AND ask_probability > 0 LIMIT 1`),
    clickhouse.query<{ arm: string; cost: number }>(
      `SELECT arm, sum(cost) / sum(answers) AS cost FROM answer_hours
       WHERE hour > now() - INTERVAL 2 WEEK AND source = 'generated' AND status = 'ok' GROUP BY arm LIMIT ${mostRows}`,
    ),
  ]);
  // Who is asked for feedback gives it more often; without asking all decisions count the same.
  const [rates] =
    isAsked === undefined
      ? []
      : await clickhouse.query<Record<"asked" | "unasked" | "never", number | null>>(
          "SELECT asked, unasked, never FROM asking_rates",
        );
  const rows = await clickhouse.query<ArmSums>(statement, {
    asked: rates?.asked ?? 1,
    unasked: rates?.unasked ?? 0,
    never: rates?.never ?? 1,
  });
  const costOf = new Map(costs.map(({ arm, cost }) => [arm, cost]));
  return rows
    .map((row) => valueOf(row, rows.length, costOf.get(row.arm) ?? null))
    .sort((a, b) => (b.snips ?? -1) - (a.snips ?? -1) || (a.arm < b.arm ? -1 : 1));
}

function valueOf(
  { arm, decisions, unsupported, ...sums }: ArmSums,
  arms: number,
  cost: number | null,
): PolicyValues["arms"][number] {
  const rival: Rival | null = rivalOf(sums, arms);
  const [squares] = sums.squares;
  const snips = rival?.always ?? null;
  // The interval of snips alone, as docs/off-policy.md has it.
  const spread = snips === null ? 0 : sums.squares[2] - 2 * snips * sums.squares[1] + snips * snips * squares;
  return {
    ...{ arm, decisions, cost, rival, snips, unsupported },
    ips: sums.heard === 0 ? null : sums.weightReward / sums.heard,
    snipsReach:
      snips === null || decisions < 2
        ? null
        : (1.959963984540054 * Math.sqrt((Math.max(0, spread) * decisions) / (decisions - 1))) / sums.weight,
    effective: squares === 0 ? null : (sums.weight * sums.weight) / squares,
  };
}

const recent =
  "created_at > now() - INTERVAL 2 WEEK AND probability > 0 AND NOT hasAny(degraded, ['policy', 'features'])";
const powers = (of: string, name: string): string => `(sum(${of}), sum(${of} * r), sum(${of} * r * r)) AS ${name}`;
/**
 * By arm: w is its importance weight, h the weight of being heard of, r the reward. Where the arm
 * could not be chosen h is 0, so that the choices and the arm are judged on the same decisions.
 */
const statement = `
  WITH
    rated AS (
      SELECT request_id, tenant, reward, newest_at FROM rewards FINAL
      WHERE weight > 0 AND newest_at > now() - INTERVAL 2 WEEK ORDER BY newest_at DESC LIMIT ${mostRated}
    ),
    (SELECT min(newest_at) - INTERVAL 1 DAY FROM rated) AS oldest
  SELECT arm, countIf(h > 0) AS decisions, sum(w) AS weight, sum(w * r) AS weightReward, ${powers("w * w", "squares")},
    sum(h) AS heard, sum(h * r) AS heardReward, ${powers("h * h", "heardSquares")}, ${powers("w * h", "both")},
    sumIf(every, h = 0) / sum(every) AS unsupported
  FROM (
    SELECT score.1 AS arm, rated.reward AS r, ifNull(decision.ask_probability, 0) AS asking,
      1 / greatest(0.001, if(asking > 0, asking * greatest(0.01, {asked:Float64}) + (1 - asking) * {unasked:Float64}, greatest(0.01, {never:Float64}))) AS every,
      if(score.2 < 1e-9, 0, every) AS h,
      h * if(score.1 = decision.chosen, least(100, 1 / decision.probability), 0) AS w
    FROM (
      SELECT request_id, tenant, arm AS chosen, probability, ask_probability, arrayJoin(arrayZip(arms.arm, arms.probability)) AS score FROM (
        SELECT request_id, tenant, arm, probability, ask_probability, arms.arm, arms.probability FROM decisions
        WHERE ${recent} AND created_at > oldest AND request_id IN (SELECT request_id FROM rated)
        LIMIT 1 BY request_id, tenant
      )
    ) AS decision
    INNER JOIN rated ON rated.request_id = decision.request_id AND rated.tenant = decision.tenant
  )
  GROUP BY arm LIMIT ${mostRows} SETTINGS distributed_product_mode = 'global'`;
