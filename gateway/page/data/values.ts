// Off-policy comparison (docs/off-policy.md): saved evaluations, and each arm taken always.
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import type { PolicyValues } from "./port.ts";

const mostRows = 100;
const estimated = "decisions, ips, snips, snips_reach AS snipsReach, effective, unsupported";

export async function readValues(clickhouse: Pick<ClickHouse, "query">): Promise<PolicyValues> {
  const [evaluations, arms] = await Promise.all([
    clickhouse.query<PolicyValues["evaluations"][number]>(
      `SELECT evaluation, policy, toUnixTimestamp64Milli(evaluated_at) AS at, dr, dr_reach AS drReach, ${estimated}
       FROM policy_value_evaluations ORDER BY at DESC, snips DESC, policy LIMIT ${mostRows}`,
    ),
    clickhouse.query<PolicyValues["arms"][number]>(
      `SELECT arm, ${estimated} FROM policy_value_arms ORDER BY snips DESC, arm LIMIT ${mostRows}`,
    ),
  ]);
  const real = (value: number | null): number | null => (value !== null && Number.isFinite(value) ? value : null);
  return {
    evaluations: evaluations.map((row) => ({ ...row, snipsReach: real(row.snipsReach), drReach: real(row.drReach) })),
    arms: arms.map((row) => ({ ...row, snipsReach: real(row.snipsReach) })),
  };
}
