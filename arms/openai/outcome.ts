// What the calls of an endpoint arm come to: answers with usage and cost, and failures.
import { estimateTokens } from "../../algorithms/text/tokens.ts";
import { textsSent } from "../../algorithms/text/prompt-tokens.ts";
import { priceList } from "../../config/prices.ts";
import type { EndpointArmConfig } from "../../config/sections/arms.ts";
import type { ArmAnswer, ArmFailure, ArmRequest, Spent } from "../arm.ts";
import { answerCost } from "../cost.ts";
import type { Completion } from "./answer.ts";
import type { Problem } from "./errors.ts";
import type { Unsendable } from "./protocol.ts";

// Length of an endpoint's name for its model, which stands in every record.
const longestName = 200;
const maxCostParam = "precedent.allow.max_cost";

/** The call that an answer came from. */
interface Made {
  attempts: number;
  queueMs: number;
  /** performance.now() of its beginning. */
  started: number;
  /** Milliseconds since the epoch, for the prices. */
  now: number;
}

export function answerOf(config: EndpointArmConfig, request: ArmRequest, reported: Completion, call: Made): ArmAnswer {
  const { hourWrite, toolUses, isRegional, ...counted } = reported.usage(() => estimatedPrompt(request));
  const usage = { ...counted, linked: 0, recomputed: 0, prefilled: counted.prompt - counted.cached };
  return {
    kind: "answer",
    text: reported.text,
    ...(reported.extra !== null && { passthrough: reported.extra }),
    finishReason: reported.finishReason,
    // Engines also name the stop strings of their templates.
    stopSequence: request.params.stop.find((stop) => stop === reported.stop),
    model: (reported.model ?? config.model).slice(0, longestName),
    usage,
    cost: answerCost({ ...usage, hourWrite, toolUses, isRegional }, priceList(config), call.now),
    attempts: call.attempts,
    queueMs: call.queueMs,
    firstTokenMs: reported.firstTokenAt === null ? null : reported.firstTokenAt - call.started,
  };
}

/** Estimated; the tokens of images are unknown. */
const estimatedPrompt = ({ pieces, passthrough }: ArmRequest): number =>
  textsSent(pieces, passthrough).reduce((sum, text) => sum + estimateTokens(text), 0);

/** What was paid, with a call that broke off. */
export const withCall = (spent: Spent | undefined, { usage, cost }: ArmAnswer): Spent => ({
  ...{ usage, cost: cost + (spent?.cost ?? 0), calls: (spent?.calls ?? 0) + 1 },
});

export function failureOf(
  { code, message, retriable, unhealthy, param, retryAfterMs }: Problem,
  attempts: number,
): ArmFailure {
  return {
    ...{ kind: "failure", code, message, attempts, retriable },
    ...(unhealthy === true && { unhealthy }),
    ...(param !== undefined && { param }),
    ...(retryAfterMs !== null && { retryAfterMs }),
  };
}

export function unsendable(arm: string, { message: what, param }: Unsendable): ArmFailure {
  const message = `Arm "${arm}" can't be sent ${what}: change or leave out ${param}.`;
  return { kind: "failure", code: "request_rejected", message, attempts: 0, retriable: false, param };
}

export function tooExpensive(arm: string, atMost: number, left: number): ArmFailure {
  const message = `A call of arm "${arm}" may cost ${money(atMost)}, and ${money(left)} of allow.max_cost is left: raise it, or set a lower max_tokens.`;
  return { kind: "failure", code: "too_expensive", message, attempts: 0, retriable: false, param: maxCostParam };
}

const money = (amount: number): string => String(Number(amount.toPrecision(3)));
