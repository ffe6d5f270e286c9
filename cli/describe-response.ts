// Lines of precedent explain on what came of a request: answers, feedback, reward, admission.
import { withoutControls } from "../algorithms/text/printable.ts";
import type { Conversation } from "../gateway/conversation.ts";
import pc from "./colors.ts";
import { oneLine } from "./reading.ts";

export const indent = (text: string): string =>
  withoutControls(text)
    .split("\n")
    .map((line) => `  ${line}`)
    .join("\n");
export const time = (milliseconds: number): string => new Date(milliseconds).toISOString();

export function describeResponse({ decision, response }: Pick<Conversation, "decision" | "response">): string[] {
  const lines = ["", pc.bold("response")];
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
  return lines;
}

export function describeAlternative(alternative: NonNullable<Conversation["alternative"]>): string[] {
  const { status, text, arm, model, totalMs, promptTokens, completionTokens, cost, errorCode, errorMessage } =
    alternative;
  return [
    "",
    pc.bold("alternative answer, for comparison"),
    status === "ok" ? indent(text) : pc.red(`  ${status}: ${errorCode ?? ""} ${errorMessage ?? ""}`),
    pc.dim(
      `  ${arm ?? "?"} (${model ?? "?"}), ${totalMs.toFixed(0)} ms, ${promptTokens} + ${completionTokens} tokens, cost ${cost.toPrecision(3)}`,
    ),
  ];
}

export function describeFeedback(conversation: Pick<Conversation, "feedback" | "reward" | "admission">): string[] {
  const { feedback, reward, admission } = conversation;
  const lines = ["", pc.bold("feedback")];
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
  return lines;
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
