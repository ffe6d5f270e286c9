// The arms as plan sees them: names, models and costs. Rebuilt whenever the configuration changes.
import { capabilities } from "../algorithms/routing/passthrough.ts";
import { answerCost, normalisedCosts } from "./cost.ts";
import type { ArmConfig } from "../config/schema.ts";
import type { Request } from "../schemas/types.ts";
import type { ReuseSettings } from "./reuse/settings.ts";
import type { Declares } from "./serves.ts";
import type { TemplateName } from "./templates.ts";

export interface RouteArm extends Declares {
  name: string;
  model: string;
  cost: number;
  examples: boolean;
  /** Estimated tokens that examples may add; absent: selection.tokenBudget. */
  tokenBudget?: number | undefined;
  contextTokens?: number | undefined;
  template: TemplateName;
  system?: string | undefined;
  /** What else of its configuration may change its answers, as JSON. */
  settings?: string;
  maxTokens: number;
  prices: { prompt: number; completion: number };
  /** Settings of an arm that returns examples' answers unchanged (type reuse). */
  reuse?: ReuseSettings | undefined;
}

/** Arms that compute their answers. A reuse arm has no load and is no fallback for another arm. */
export const computing = <A extends Pick<RouteArm, "reuse">>(arms: readonly A[]): A[] =>
  arms.filter(({ reuse }) => reuse === undefined);

export function routeArms(arms: readonly ArmConfig[], modelOf: (arm: ArmConfig) => string): RouteArm[] {
  const costs = normalisedCosts(arms);
  return arms.map((arm) => ({
    name: arm.name,
    model: modelOf(arm),
    cost: costs.get(arm.name) ?? 0,
    examples: arm.examples,
    tokenBudget: arm.tokenBudget,
    contextTokens: arm.type === "llama" ? arm.contextTokens : undefined,
    template: arm.template,
    system: arm.system,
    settings: settingsOf(arm),
    capabilities: arm.type === "openai" ? capabilities.filter((capability) => arm[capability]) : [],
    maxTokens: arm.maxTokens,
    prices: arm.prices,
    reuse: arm.type === "reuse" ? arm : undefined,
  }));
}

/** How an arm is called and paid says nothing of its answers; every other setting may. */
const operational = new Set(
  "name type concurrency dispatch prices cost apiKey timeoutMs retries requestsPerMinute stream latencyMs latencySpreadMs".split(
    " ",
  ),
);
const settingsOf = (arm: ArmConfig): string =>
  JSON.stringify(Object.entries(arm).filter(([setting]) => !operational.has(setting)));

/** Rough upper bound of an answer's cost: a token is four characters. In the prices' currency. */
export function costAtMost(
  arm: RouteArm,
  promptCharacters: number,
  exampleTokens: number,
  maxTokens: number | null,
): number {
  const prompt = Math.ceil(promptCharacters / 4) + exampleTokens;
  return answerCost({ prompt, completion: Math.min(maxTokens ?? arm.maxTokens, arm.maxTokens) }, arm.prices);
}

/** The same over all arms that a request allows, with as many examples as may be shown. */
export function mostCost(
  { messages, allow, params }: Pick<Request, "messages" | "allow" | "params">,
  arms: readonly RouteArm[],
  tokenBudget: number,
): number {
  const characters = messages.reduce((sum, { content }) => sum + content.length, 0);
  const costs = arms
    .filter(({ name }) => allow.arms?.includes(name) ?? true)
    .map((arm) => {
      const exampleTokens = arm.examples ? (arm.tokenBudget ?? tokenBudget) : 0;
      return costAtMost(arm, characters, exampleTokens, params.maxTokens);
    });
  return Math.min(Math.max(0, ...costs), allow.maxCost ?? Infinity);
}
