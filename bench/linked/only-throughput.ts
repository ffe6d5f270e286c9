// bench -- linked --only throughput: requests a CPU second with one, four and eight in flight, of
// more requests than the whole run has time for.
import type { BenchContext, Measured } from "../benchmark.ts";
import { significant } from "../support/statistics.ts";
import { measurePlan } from "./measure-plan.ts";
import { quickPlan, throughputPlan } from "./plan.ts";
import type { Throughput } from "./throughput.ts";

export async function runThroughput(context: BenchContext): Promise<Measured> {
  const quick = quickPlan.throughput.map((part) => ({ ...part, after: 0 }));
  const plan = context.quick ? { ...throughputPlan, throughput: quick } : throughputPlan;
  const { throughput, device, cut } = await measurePlan(context, plan);
  const rows = Object.entries(throughput).flatMap(([workload, measured]) => ratios(workload, measured));
  return { part: "throughput", figures: { device, cut_short: cut, rows } };
}

/** Beside full with as many in flight, and beside the same policy with one. */
export function ratios(workload: string, measured: readonly Throughput[]) {
  return measured.map((row) => {
    const full = measured.find(({ policy, in_flight }) => policy === "full" && in_flight === row.in_flight);
    const one = measured.find(({ policy, in_flight }) => policy === row.policy && in_flight === 1);
    return {
      workload,
      ...row,
      per_cpu_s: significant(row.per_cpu_s),
      per_s: significant(row.per_s),
      ratio: full === undefined ? null : significant(row.per_cpu_s / full.per_cpu_s),
      ratio_one: one === undefined ? null : significant(row.per_cpu_s / one.per_cpu_s),
    };
  });
}
