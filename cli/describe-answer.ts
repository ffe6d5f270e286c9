// A response and its decision in words, for people.
import pc from "./colors.ts";
import type { Decision, Response } from "../schemas/types.ts";
import { oneLine } from "./reading.ts";

/** Texts of examples, by id. */
export type ExampleTexts = ReadonlyMap<string, { request: string; response: string }>;

/** `alternative`: null where it did not come in time, absent where there is none. */
export function describeAnswer({
  response,
  decision,
  alternative,
  texts = new Map(),
}: {
  response: Response;
  decision: Decision | null;
  alternative?: Response | null;
  texts?: ExampleTexts;
}): string {
  const lines: string[] = [];
  if (response.status === "ok") lines.push(response.text);
  else lines.push(pc.red(`${response.status}: ${response.error?.code ?? ""} ${response.error?.message ?? ""}`.trim()));
  const facts = [
    response.arm === null ? response.source : `${response.arm} (${response.model ?? "?"}), ${response.source}`,
    `${response.timings.total.toFixed(0)} ms`,
    `${response.usage.prompt} + ${response.usage.completion} tokens`,
    `cost ${response.cost.toPrecision(3)}`,
  ];
  lines.push("", pc.dim(facts.join(" · ")));
  if (decision !== null) lines.push(...describeDecision(decision, texts));
  for (const { arm, code } of response.failedArms)
    lines.push(pc.yellow(`${arm} failed (${code}): another arm took over`));
  if (response.degraded.length > 0) lines.push(pc.yellow(`degraded: ${response.degraded.join(", ")}`));
  lines.push(...describeAsking(response, alternative), pc.dim(`request ${response.requestId}`));
  return `${lines.join("\n")}\n`;
}

/** What the client is asked, and the other answer that it is to be compared with. */
function describeAsking({ asked, requestId, alternative: arm }: Response, other?: Response | null): string[] {
  if (!asked) return [];
  if (arm === null) return [`What do you think of it? precedent feedback ${requestId} up`];
  const text =
    other?.status === "ok"
      ? other.text
      : `none came${other?.error ? `: ${other.error.code} ${other.error.message}` : ""}`;
  return [
    pc.bold(`The answer of ${arm}, for comparison`),
    text,
    `Is the first one better? precedent feedback ${requestId} better --against ${arm}`,
  ];
}

/** A note why a sampled quality is above 1 or below 0, if one is. */
export const describeDraws = (arms: readonly { sampled: number }[]): string[] =>
  arms.some(({ sampled }) => sampled < 0 || sampled > 1)
    ? [pc.dim("  sampled: drawn around the quality, as widely as little is known: it may pass 0 and 1")]
    : [];

function describeDecision(decision: Decision, texts: ExampleTexts): string[] {
  const chosen = decision.arms.find(({ arm }) => arm === decision.arm);
  const { experiment } = decision;
  const lines = [`arm ${decision.arm} chosen with probability ${decision.probability.toFixed(3)}`];
  if (experiment !== null) lines.push(`variant ${experiment.variant} of the experiment ${experiment.name}`);
  for (const { arm, mean, deviation, sampled, bias, saturation, probability } of decision.arms) {
    const quality = `quality ${mean.toFixed(2)} ± ${deviation.toFixed(2)}`;
    const own = saturation === 0 ? "" : ` (${saturation.toFixed(2)} for its own load)`;
    lines.push(
      `  ${arm}: ${quality}, sampled ${sampled.toFixed(2)}, less ${bias.toFixed(2)} for cost and load${own}, probability ${probability.toFixed(3)}`,
    );
  }
  lines.push(...describeDraws(decision.arms));
  const examples = chosen?.examples ?? [];
  lines.push(`${examples.length} examples shown${examples.length === 0 ? "" : ", the best last:"}`);
  for (const { id, similarity } of examples) {
    const text = texts.get(id);
    const what = text === undefined ? id : `${oneLine(text.request)} → ${oneLine(text.response)}`;
    lines.push(`  ${similarity.toFixed(3)}  ${what}`);
  }
  const timings = decision.timings.map(({ operator, ms }) => `${operator} ${ms.toFixed(1)}`);
  if (timings.length > 0) lines.push(pc.dim(`ms: ${timings.join(", ")}`));
  return lines;
}
