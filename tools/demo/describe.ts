// One answered request in a few lines: examples with similarity, arm with probability, answer, time
// of every operator.
import pc from "picocolors";
import { bestTokenF1 } from "../../algorithms/text/token-f1.ts";
import type { Decision, Response } from "../../schemas/types.ts";
import type { Answered } from "./client.ts";
import { cut } from "./screen.ts";

export interface Known {
  request: string;
  response: string;
}

export interface DescribeOptions {
  question: string;
  references: readonly string[];
  /** Text of an example by its id. */
  example(id: string): Known | undefined;
  width: number;
  /** Examples to show. */
  examples?: number;
}

const label = (text: string): string => pc.dim(text.padEnd(10));

export function describeAnswered({ response, decision }: Answered, options: DescribeOptions): string[] {
  return [
    pc.bold(cut(options.question, options.width)),
    ...(decision === null ? [] : examplesOf(decision, options)),
    ...(decision === null ? [] : [`${label("arm")}${armOf(decision)}`]),
    `${label("answer")}${answerOf(response, options)}`,
    `${label("ms")}${pc.dim(timesOf(response, decision))}`,
    ...(response.degraded.length > 0 ? [`${label("degraded")}${pc.yellow(response.degraded.join(", "))}`] : []),
  ];
}

/**
 * The best first: the prompt has them the other way round, so that the best stands next to the
 * question.
 */
function examplesOf(decision: Decision, { example, width, examples = 3 }: DescribeOptions): string[] {
  const chosen = decision.arms.find(({ arm }) => arm === decision.arm);
  const shown = [...(chosen?.examples ?? [])].reverse();
  if (shown.length === 0) return [`${label("examples")}${pc.dim(`none: ${decision.arm} is asked without`)}`];
  const lines = shown.slice(0, examples).map(({ id, similarity }, index) => {
    const text = example(id);
    const left = text === undefined ? id : cut(text.request, Math.floor((width - 16) / 2));
    const right = text === undefined ? "" : pc.dim(` → ${cut(text.response, Math.floor((width - 22) / 2))}`);
    return `${index === 0 ? label("examples") : " ".repeat(10)}${pc.cyan(similarity.toFixed(2))}  ${left}${right}`;
  });
  const more = shown.length - lines.length;
  return more > 0 ? [...lines, pc.dim(`${" ".repeat(10)}and ${more} more`)] : lines;
}

function armOf(decision: Decision): string {
  const others = decision.arms.filter(({ arm }) => arm !== decision.arm);
  const rest = others.map(({ arm, probability }) => `${arm} ${probability.toFixed(2)}`).join(", ");
  const model = decision.arms.find(({ arm }) => arm === decision.arm)?.model ?? "?";
  const policy = decision.policyVersion === 0 ? "nothing learnt yet" : `policy ${decision.policyVersion}`;
  return `${pc.green(decision.arm)} with probability ${decision.probability.toFixed(2)} ${pc.dim(`(${model}; ${rest === "" ? "" : `${rest}; `}${policy})`)}`;
}

function answerOf(response: Response, { references, width }: DescribeOptions): string {
  if (response.status !== "ok")
    return pc.red(
      cut(`${response.status}: ${response.error?.code ?? "?"} ${response.error?.message ?? ""}`, width - 10),
    );
  const answer = cut(response.text, width - 10);
  if (references.length === 0) return pc.bold(answer);
  return `${pc.bold(answer)}  ${pc.dim(`token F1 ${bestTokenF1(response.text, references).toFixed(2)}`)}`;
}

function timesOf({ timings }: Response, decision: Decision | null): string {
  // The others took less than the reader would notice.
  const slow = (decision?.timings ?? []).filter(({ ms }) => ms >= 1);
  const operators = slow.map(({ operator, ms }) => `${operator} ${number(ms)}`);
  const arm = [
    `queue ${number(timings.queue)}`,
    ...(timings.firstToken === null ? [] : [`first token ${number(timings.firstToken)}`]),
    `total ${number(timings.total)}`,
  ];
  return [operators.join(" · "), arm.join(" · ")].filter((part) => part !== "").join(" │ ");
}

const number = (ms: number): string => (ms < 9.95 ? ms.toFixed(1) : ms.toFixed(0));
