// bench -- serve --only escalation: would asking the small model first, and the large one when it
// was unsure, be worth more than choosing before? Computed from the answers that serve has kept.
import type { BenchContext, Measured } from "../../benchmark.ts";
import { completeOf, effort, overheadOf } from "../figures.ts";
import { type Answers, keyOf, readAnswers, readLogged, type Row, saveAnswers } from "../log.ts";
import { readPool, readStream } from "../stream.ts";
import { asked, type Escalated, escalationFigures } from "./figures.ts";
import { probeAnswers, probedArms } from "./probe.ts";

/** Fewer say nothing. */
const least = 20;

export async function escalation(context: BenchContext, file: string): Promise<Measured> {
  const { quick, note } = context;
  if (!quick) {
    const logged = await readLogged(file);
    if (logged.size > 0)
      await probeAnswers(context, { logged, items: await readStream(), pool: await readPool(context), file });
  }
  const answers = await readAnswers(file);
  if (!quick) await saveAnswers(answers);
  const requests = requestsOf(answers);
  if (requests.length < least) {
    const reason = `${requests.length} requests have answers of every arm and log-probabilities, and ${least} are the least`;
    return { figures: { auc: null, worth: null }, reasons: { auc: reason, worth: reason }, part: "escalation" };
  }
  note(`figures from the kept answers to ${requests.length} requests`);
  const { resamples } = quick ? effort.quick : effort.full;
  return { figures: escalationFigures(requests, resamples), part: "escalation" };
}

function requestsOf(answers: Answers): Escalated[] {
  const { cpu_s: overhead } = overheadOf(answers);
  return completeOf(answers.rows.values()).flatMap((position): Escalated[] => {
    const rows = asked.map((arm) => answers.rows.get(keyOf({ position, arm }))!);
    const probed = probedArms.map((_, arm) => rows[arm]!);
    if (probed.some(({ probe }) => probe === undefined)) return [];
    const [shown, alone] = rows;
    return [
      {
        domain: shown!.domain,
        before: [Number(shown!.domain === "gsm8k"), shown!.similarity ?? 0, Math.log(alone!.usage.prompt)],
        score: rows.map(({ lenient }) => lenient),
        cpu: rows.map(({ cpu }) => cpu.model + overhead),
        after: probed.map(signsOf),
      },
    ];
  });
}

/** Signs of a right answer; an empty answer is as unsure as can be. */
function signsOf({ probe, usage, finish }: Row): Record<string, number> {
  const unsure = -10;
  return {
    logprob: probe!.logprob ?? unsure,
    least_logprob: probe!.least ?? unsure,
    shortness: -Math.log1p(usage.completion),
    ended: Number(finish !== "length"),
    agreement: probe!.agreement,
  };
}
