// bench -- linked --only passages: long passages alone, of more requests than the whole run has
// time for, so that the aim for them (at most 5 % computed again, mean KL at most .04) is answered
// by an interval and not by luck.
import type { BenchContext, Measured } from "../benchmark.ts";
import { drawChart } from "./drawing.ts";
import { klDifferences, rowsOf } from "./figures.ts";
import { measurePlan } from "./measure-plan.ts";
import { passagesPlan } from "./plan.ts";

/** What was the best at so little computed again when it was the only thing to be had. */
const before = { convention: "context", policy: "attnlink-4" } as const;

export async function runPassages(context: BenchContext): Promise<Measured> {
  const plan = context.quick ? { ...passagesPlan, parts: passagesPlan.parts.slice(0, 1) } : passagesPlan;
  const { measured, cut } = await measurePlan(context, plan);
  const rows = [...measured].flatMap(([workload, of]) => rowsOf(workload, of));
  if (!context.quick) await drawChart({ passages: rows });
  return {
    part: "passages",
    figures: {
      cut_short: cut,
      rows,
      differences: [...measured].flatMap(([workload, of]) => klDifferences(workload, of, before)),
    },
  };
}
