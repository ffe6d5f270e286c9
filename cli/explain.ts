// precedent explain REQUEST_ID: request, arms, examples, answer and feedback, from ClickHouse.
import { withoutControls } from "../algorithms/text/printable.ts";
import type { Command } from "commander";
import pc from "./colors.ts";
import type { ClickHouse } from "../connections/clickhouse/port.ts";
import { findConversation, tenantsOf, type Conversation } from "../gateway/conversation.ts";
import { describeDraws } from "./describe-answer.ts";
import type { ReuseArmConfig } from "../config/schema.ts";
import { CommandError, type Io } from "./io.ts";
import { oneLine, tableOf, withClickHouse } from "./reading.ts";
import { recordedId } from "./request-id.ts";

export function addExplain(program: Command, io: Io): void {
  program
    .command("explain")
    .description("why a request was answered as it was: the decision with all arms, examples, answer, feedback, reward")
    .argument(
      "<request-id>",
      "as the client gave it or got it (chatcmpl-..., msg_..., resp_...), or topic-partition-offset",
    )
    .option("-t, --tenant <name>", "owner of the request, where several tenants use the same id")
    .option("--json", "as JSON")
    .action(async (id: string, { tenant, json }: { tenant?: string; json?: boolean }, command: Command) => {
      await withClickHouse(command, io, async (clickhouse, { arms }) => {
        const found = await recorded(clickhouse, id, tenant);
        const reuse = arms.find((arm) => arm.type === "reuse");
        io.out(json === true ? `${JSON.stringify(found, null, 2)}\n` : describeConversation(found, reuse));
      });
    });
}

/** Rejects when it is not recorded, or belongs to several tenants and none is named. */
async function recorded(clickhouse: ClickHouse, given: string, named?: string): Promise<Conversation> {
  const id = await recordedId(clickhouse, given);
  const tenants = named === undefined ? await tenantsOf(clickhouse, id) : [named];
  if (tenants.length > 1) throw new CommandError(`${id} is a request of ${tenants.join(", ")}: name one by --tenant`);
  const [tenant] = tenants;
  const found = tenant === undefined ? null : await findConversation(clickhouse, id, tenant, { seesShared: true });
  if (found === null)
    throw new CommandError(`no request ${id} is recorded${named === undefined ? "" : ` of ${named}`}`);
  return found;
}

const indent = (text: string): string =>
  withoutControls(text)
    .split("\n")
    .map((line) => `  ${line}`)
    .join("\n");
const time = (milliseconds: number): string => new Date(milliseconds).toISOString();

/** Load and expected cached shares; no lines without either. */
function describeLoad({ load, arms }: Pick<NonNullable<Conversation["decision"]>, "load" | "arms">): string[] {
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

const describeBreakers = ({ breakers, arms }: NonNullable<Conversation["decision"]>): string[] =>
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
  decision: NonNullable<Conversation["decision"]>,
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
function describeAsking({ asked, askProbability, alternativeArm }: NonNullable<Conversation["decision"]>): string[] {
  if (!asked) return [];
  const share = askProbability === null ? "" : ` (probability ${askProbability.toPrecision(3)})`;
  const why =
    alternativeArm === null ? "drawn at random" : `the arms were nearly even; the alternative was ${alternativeArm}`;
  return [`  feedback asked for${share}: ${why}`];
}

/** Plan times its own call of an inline arm; what it queues has none. */
const describeDispatch = (decision: Conversation["decision"]): string =>
  decision?.timings.some(({ operator }) => operator === "call") === true ? " inline (called by plan)" : "";

function describeCost(of: NonNullable<Conversation["response"]>): string {
  const among = [
    [of.cachedTokens, "cached"],
    [of.cacheWriteTokens, "written to the cache"],
    [of.reasoningTokens, "reasoning"],
  ] as const;
  const details = among.filter(([tokens]) => tokens > 0).map(([tokens, what]) => `${tokens} ${what}`);
  const calls = of.attempt > 1 ? ` for ${of.billed} of ${of.attempt} attempts` : "";
  const inVain = of.failedCost > 0 ? `, ${of.failedCost.toPrecision(3)} of it for failed ones` : "";
  const tokens = `${of.promptTokens} + ${of.completionTokens} tokens${details.length > 0 ? ` (${details.join(", ")})` : ""}`;
  return `${tokens}, cost ${of.cost.toPrecision(3)}${calls}${inVain}`;
}

function describeConversation(
  { request, decision, examples, trial, response, alternative, feedback, reward, admission }: Conversation,
  reuseArm?: ReuseArmConfig,
): string {
  const lines = [pc.bold(`request ${request.id}`), `  ${time(request.createdAt)}, ${request.domain}`];
  for (const { role, content } of request.messages) lines.push(pc.dim(`  ${role}:`), indent(content));

  lines.push("", pc.bold("decision"));
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

  lines.push("", pc.bold("response"));
  if (response === undefined) lines.push("  none recorded yet");
  else {
    const { status, arm, model, source, totalMs, errorCode, errorMessage } = response;
    for (const failed of response.failedArms)
      lines.push(
        pc.yellow(`  ${failed.arm} failed: ${failed.code} after ${failed.attempts} attempts; another arm took over`),
        ...(failed.message === "" ? [] : [pc.dim(`    ${oneLine(failed.message, 300)}`)]),
      );
    lines.push(
      status === "ok" ? indent(response.text) : pc.red(`  ${status}: ${errorCode ?? ""} ${errorMessage ?? ""}`),
    );
    lines.push(
      pc.dim(
        `  ${arm ?? source} (${model ?? "?"}), ${source}${describeDispatch(decision)}, ${totalMs.toFixed(0)} ms, ${describeCost(response)}`,
      ),
    );
  }

  if (alternative !== undefined) {
    const { status, text, arm, model, totalMs, promptTokens, completionTokens, cost, errorCode, errorMessage } =
      alternative;
    lines.push(
      "",
      pc.bold("alternative answer, for comparison"),
      status === "ok" ? indent(text) : pc.red(`  ${status}: ${errorCode ?? ""} ${errorMessage ?? ""}`),
      pc.dim(
        `  ${arm ?? "?"} (${model ?? "?"}), ${totalMs.toFixed(0)} ms, ${promptTokens} + ${completionTokens} tokens, cost ${cost.toPrecision(3)}`,
      ),
    );
  }

  lines.push("", pc.bold("feedback"));
  if (feedback.length === 0) lines.push("  none");
  for (const one of feedback) {
    const value = one.value === null ? "" : ` ${one.value}`;
    const about = [
      one.against === null ? "" : ` against ${one.against}`,
      one.withdraws === null ? "" : ` withdraws ${one.withdraws}`,
      one.text === null ? "" : `: ${oneLine(one.text)}`,
      one.comment === null ? "" : ` (${oneLine(one.comment)})`,
    ].join("");
    lines.push(`  ${time(one.createdAt)} ${one.source}: ${one.kind}${value}${about}`);
  }
  if (reward !== undefined)
    lines.push(
      reward.weight > 0
        ? `  reward ${reward.reward.toFixed(3)}, weight ${reward.weight}, from ${reward.counted} of ${reward.received}`
        : `  no reward: none of ${reward.received} counts`,
    );
  if (admission !== undefined)
    lines.push(
      "",
      pc.bold("as an example"),
      `  ${admission.outcome}${admission.reason === "" ? "" : `: ${admission.reason}`}${admission.exampleId === "" ? "" : ` (example ${admission.exampleId.slice(0, 12)})`}`,
    );
  return `${lines.join("\n")}\n`;
}
