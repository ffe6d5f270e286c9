// bench -- linked --only papers | chunk-size | alpha: quality against recomputed share in the
// papers' own setting, passages and questions of musique (or of --data), with the model that
// --model names. Takes minutes a question; the outcomes of questions are kept beside the results,
// so that any clone can continue.
import { createHash } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { namedModel, modelFile } from "../../../config/models.ts";
import type { BenchContext, Measured as Outcome } from "../../benchmark.ts";
import { commit } from "../../support/machine.ts";
import { klDifferences, rowsOf } from "../figures.ts";
import { measurePlan } from "../measure-plan.ts";
import { type Mode, planOf } from "./plan.ts";
import { loadQuestions } from "./questions.ts";
import { openSaved } from "./saved.ts";

const usualModel = "Qwen2.5-Coder-0.5B-Instruct";
const usualQuestions = 25;
const results = fileURLToPath(new URL("../../results", import.meta.url));

export async function runPapers(context: BenchContext, mode: Mode): Promise<Outcome> {
  const { data, quick, folder } = context;
  const model = context.model ?? usualModel;
  const plan = planOf(mode, context.requests ?? (quick ? 1 : usualQuestions));
  const file = join(quick ? folder : results, `linked-${mode}-${namedModel(model)?.name ?? "model"}.jsonl`);
  const settings = JSON.stringify({ model, data: data ?? null, plan: plan.parts[0]?.policies });
  const saved = await openSaved(file, createHash("sha256").update(settings).digest("hex").slice(0, 16), commit());
  const { measured, cut } = await measurePlan({ ...context, checkpoints: saved }, plan, {
    path: modelFile(model),
    workloads: async (chat, opened) => (await loadQuestions(data, chat, opened)).workload,
  });
  const each = [...measured];
  return {
    part: model === usualModel ? mode : `${mode}-${model}`,
    figures: {
      model,
      commits: saved.commits(),
      cut_short: cut,
      rows: each.flatMap(([workload, outcomes]) => rowsOf(workload, outcomes)),
      differences: each.flatMap(([workload, outcomes]) =>
        klDifferences(workload, outcomes, { convention: "context+system", policy: "attnlink-4" }),
      ),
    },
  };
}
