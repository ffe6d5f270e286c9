// Lines of precedent explain on a decision: arms, load, breakers, reuse, examples.
import type { ReuseArmConfig } from "../config/schema.ts";
import type { Conversation } from "../gateway/conversation.ts";
import pc from "./colors.ts";
import { describeDraws } from "./describe-answer.ts";
import { oneLine, tableOf } from "./reading.ts";

type Decision = NonNullable<Conversation["decision"]>;

export function describeDecision(
  { request, decision, response }: Pick<Conversation, "request" | "decision" | "response">,
  reuseArm?: ReuseArmConfig,
): string[] {
  const lines = ["", pc.bold("decision")];
  if (decision === undefined) lines.push("  none: refused, or not planned or recorded yet");
  else if (decision.source === "cache")
    lines.push(
      `  answered from the response cache: ${decision.arm} had answered the same before, or at the same time`,
      pc.dim(
        `  key ${decision.cacheKey ?? ""} in ${request.domain}, saved ${response?.savedCost?.toPrecision(3) ?? "?"}`,
      ),
    );
  else if (decision.source === "imported")
    lines.push(
      `  imported from the log of another system: ${decision.arm} answered${decision.probability > 0 ? `, chosen with probability ${decision.probability.toFixed(3)}` : "; its probability is not logged"}`,
    );
  else {
    lines.push(
      `  ${decision.arm}, chosen with probability ${decision.probability.toFixed(3)} by policy version ${decision.policyVersion}${decision.policyVersion === 0 ? " (the prior)" : ""}`,
      tableOf(
        ["arm", "model", "cost", "mean", "deviation", "sampled", "bias", "score", "probability", "examples"],
        decision.arms.map((arm) => [
          arm.arm === decision.arm ? `${arm.arm} *` : arm.arm,
          arm.model,
          ...[arm.cost, arm.mean, arm.deviation, arm.sampled, arm.bias, arm.sampled - arm.bias, arm.probability].map(
            (x) => Number(x.toFixed(3)),
          ),
          arm.examples.length,
        ]),
      ).trimEnd(),
    );
    lines.push(
      ...describeDraws(decision.arms),
      ...describeLoad(decision),
      ...describeBreakers(decision),
      ...describeReuse(decision, reuseArm),
      ...describeAsking(decision),
    );
    const { template, helpfulnessVersion, threshold, exploredThreshold } = decision;
    const tau =
      exploredThreshold === null ? `threshold ${threshold}` : `threshold ${exploredThreshold} tried for ${threshold}`;
    lines.push(
      `  template ${template}, helpfulness by ${helpfulnessVersion === 0 ? "similarity" : `model version ${helpfulnessVersion}`}, ${tau}`,
    );
    if (decision.timings.length > 0)
      lines.push(
        pc.dim(`  ms: ${decision.timings.map(({ operator, ms }) => `${operator} ${ms.toFixed(1)}`).join(", ")}`),
      );
    if (decision.degraded.length > 0) lines.push(pc.yellow(`  degraded: ${decision.degraded.join(", ")}`));
  }
  return lines;
}

export function describeExamples(conversation: Pick<Conversation, "decision" | "examples" | "trial">): string[] {
  const { decision, examples, trial } = conversation;
  const lines: string[] = [];
  const score = decision?.arms.find(({ arm }) => arm === decision.arm);
  const shown = score?.examples ?? [];
  if (shown.length > 0) {
    lines.push("", pc.bold(`examples shown, in prompt order (${score?.order ?? "best_last"})`));
    const texts = new Map(examples.map((example) => [example.id, example]));
    for (const { id, similarity, helpfulness, explored } of shown) {
      const text = texts.get(id);
      const what = text === undefined ? "gone from the pool" : `${oneLine(text.request)} → ${oneLine(text.response)}`;
      const help = helpfulness === similarity ? "" : `, helpfulness ${helpfulness.toFixed(3)}`;
      lines.push(
        `  ${id.slice(0, 12)}  similarity ${similarity.toFixed(3)}${help}${explored ? ", explored" : ""}  ${what}`,
      );
    }
  }

  if (trial !== undefined)
    lines.push(
      pc.dim(
        `  trial: ${trial.id.slice(0, 12)} was ${trial.shown ? "forced in" : "kept out"} by chance (${trial.probability})`,
      ),
    );
  return lines;
}

/** Load and expected cached shares; no lines without either. */
function describeLoad({ load, arms }: Pick<Decision, "load" | "arms">): string[] {
  const saturated = arms.filter(({ saturation }) => saturation > 0);
  const own = saturated.map(({ arm, saturation }) => `; ${saturation.toFixed(3)} of the bias of ${arm} for its own`);
  const cached = arms.filter(({ cachedShare }) => cachedShare > 0);
  const shares = cached.map(({ arm, cachedShare }) => `${arm} ${(100 * cachedShare).toFixed(0)} %`);
  return [
    ...(load === 0 && saturated.length === 0
      ? []
      : [`  load ${load.toFixed(2)} of the more expensive arms${own.join("")}`]),
    ...(shares.length === 0 ? [] : [`  of the prompt, expected in engines' caches: ${shares.join(", ")}`]),
  ];
}

const describeBreakers = ({ breakers, arms }: Decision): string[] =>
  Object.entries(breakers).map(([arm, state]) => {
    const means =
      state === "half-open"
        ? "it could be chosen, as a probe"
        : arms.some((score) => score.arm === arm)
          ? "it could be chosen, for none was closed"
          : "it could not be chosen";
    return pc.yellow(`  the breaker of ${arm} was ${state}: ${means}`);
  });

/** arm: its current configuration; absent: no longer configured. */
export function describeReuse(
  decision: Decision,
  arm?: Pick<ReuseArmConfig, "name" | "minimumSimilarity" | "minimumQuality">,
): string[] {
  const { reuseArm = "", reuseExample = "", reuseState, reuseVerifies } = decision;
  if (reuseArm === "" && arm === undefined) return [];
  if (reuseArm === "")
    return [
      `  ${arm?.name}: found no past answer that it may give: similarity of at least ${arm?.minimumSimilarity}, right with at least ${arm?.minimumQuality} by prediction (precedent select shows the nearest)`,
    ];
  const { reuseSimilarity = 0, reuseQuality = 0, reuseBound = 1 } = decision;
  const likeness = `similarity ${reuseSimilarity.toFixed(3)}, right with ${reuseQuality.toFixed(2)} by prediction`;
  if (reuseState === "near_miss") {
    const least = arm === undefined ? "" : ` (it needs ${arm.minimumSimilarity} and ${arm.minimumQuality})`;
    return [
      `  ${reuseArm}: no past answer was near and good enough; the best, example ${reuseExample.slice(0, 12)}: ${likeness}${least}`,
    ];
  }
  const why =
    reuseState === "on"
      ? "it could be chosen"
      : reuseState === "off"
        ? "above the arm's limit, so it is off"
        : "held back, to verify";
  const compared = reuseVerifies === true ? "; the two answers are compared" : "";
  return [
    `  ${reuseArm}: the answer of example ${reuseExample.slice(0, 12)}, ${likeness}; at most ${reuseBound.toFixed(3)} are wrong: ${why}${compared}`,
  ];
}

/** Whether feedback was asked for, and why; nothing when it was not. */
function describeAsking({ asked, askProbability, alternativeArm }: Decision): string[] {
  if (!asked) return [];
  const share = askProbability === null ? "" : ` (probability ${askProbability.toPrecision(3)})`;
  const why =
    alternativeArm === null ? "drawn at random" : `the arms were nearly even; the alternative was ${alternativeArm}`;
  return [`  feedback asked for${share}: ${why}`];
}
