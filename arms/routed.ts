// The arms as plan sees them: names, models and costs. Rebuilt whenever the configuration changes.
import type { Capability } from "../algorithms/routing/passthrough.ts";
import type { ExampleOrder } from "../algorithms/selection/example-order.ts";
import { estimateTokens, tokensAtMost } from "../algorithms/text/tokens.ts";
import { costAtMost, normalisedCosts, pricedOf, type Priced } from "./cost.ts";
import { promptTokens } from "../algorithms/text/prompt-tokens.ts";
import type { ArmConfig } from "../config/schema.ts";
import { answersBatches, isEndpoint } from "../config/sections/arms.ts";
import type { Request } from "../schemas/types.ts";
import type { ReuseSettings } from "./reuse/settings.ts";
import type { Declares } from "./serves.ts";
import { templates, type TemplateName } from "./templates.ts";

export interface RouteArm extends Declares, Priced {
  name: string;
  model: string;
  cost: number;
  examples: boolean;
  /** Estimated tokens that examples may add; absent: selection.tokenBudget. */
  tokenBudget?: number | undefined;
  template: TemplateName;
  /** Order of its examples; absent: the most helpful last. */
  order?: ExampleOrder;
  system?: string | undefined;
  /** What else of its configuration may change its answers, as JSON. */
  settings?: string;
  /** Settings of an arm that returns examples' answers unchanged (type reuse). */
  reuse?: ReuseSettings | undefined;
  /** Answers only requests that name it, or whose variant of an experiment does. */
  experimental?: boolean | undefined;
  /** Answers lines of batches alone. */
  batch?: boolean | undefined;
}

/** Arms that answer soon: no reuse arms and provider batches, which have no load. */
export const computing = <A extends Pick<RouteArm, "reuse" | "batch">>(arms: readonly A[]): A[] =>
  arms.filter(({ reuse, batch }) => reuse === undefined && batch !== true);

export function routeArms(arms: readonly ArmConfig[], modelOf: (arm: ArmConfig) => string): RouteArm[] {
  const costs = normalisedCosts(arms);
  return arms.map((arm) => ({
    name: arm.name,
    model: modelOf(arm),
    cost: costs.get(arm.name) ?? 0,
    examples: arm.examples,
    tokenBudget: arm.tokenBudget,
    template: arm.template,
    order: orderOf(arm),
    system: arm.system,
    settings: settingsOf(arm),
    capabilities: capabilitiesOf(arm),
    ...pricedOf(arm),
    reuse: arm.type === "reuse" ? arm : undefined,
    experimental: arm.experimental,
    batch: answersBatches(arm),
  }));
}

function capabilitiesOf(arm: ArmConfig): Capability[] {
  if (!isEndpoint(arm)) return [];
  const parameters = [arm.type === "openai" ? "parameters" : "anthropic", "common"] as const;
  return [...(["tools", "vision"] as const).filter((one) => arm[one]), ...(arm.parameters ? parameters : [])];
}

/** Behind an endpoint, the engine caches prefixes; a guided prompt begins with the question. */
const orderOf = (arm: ArmConfig): ExampleOrder =>
  isEndpoint(arm) && arm.template === "chat-turns" ? "shared_prefix" : "best_last";

/** How an arm is called and paid says nothing of its answers; every other setting may. */
const operational = new Set(
  (
    "name type experimental concurrency dispatch prices cost apiKey headers timeoutMs retries requestsPerMinute stream latencyMs " +
    "latencySpreadMs endpoints discover metricsUrl batch batchCollectMs"
  ).split(" "),
);
const settingsOf = (arm: ArmConfig): string =>
  JSON.stringify(Object.entries(arm).filter(([setting]) => !operational.has(setting)));

type Asked = Pick<Request, "messages" | "passthrough" | "allow" | "params"> & Partial<Pick<Request, "documents">>;

/** What stages put into prompts, at most: examples in estimated tokens, documents in bytes. */
export interface Additions {
  tokenBudget: number;
  documentBytes: number;
}

/** Estimates of examples are of plain text; what is paid may be so many times as much. */
const denser = 2;

/** Tokens of a call of each arm that a request allows: of the prompt as sent, and the answer. */
function callsOf(
  { messages, documents = [], passthrough, allow, params }: Asked,
  arms: readonly RouteArm[],
  { tokenBudget, documentBytes }: Additions,
  count: (text: string) => number,
): { arm: RouteArm; prompt: number; completion: number }[] {
  const turns = messages.map(({ content }) => ({ kind: "turn" as const, text: content }));
  const own = promptTokens(turns, passthrough, count) + (documents.length > 0 ? Math.ceil(documentBytes / 3) : 0);
  return arms
    .filter(({ name, reuse }) => reuse === undefined && (allow.arms?.includes(name) ?? true))
    .map((arm) => {
      const shown = arm.examples && passthrough === null ? (arm.tokenBudget ?? tokenBudget) * denser : 0;
      // The guided layout says the question twice.
      const repeated = shown > 0 && arm.template === "guided" ? own + templates.guided.overhead("") : 0;
      const prompt = own + repeated + shown + (arm.system === undefined ? 0 : count(arm.system));
      return { arm, prompt, completion: params.maxTokens ?? arm.maxTokens };
    });
}

/** Cost of one call at most: of the most expensive arm that is allowed, or allow.maxCost. */
export function mostCost(request: Asked, arms: readonly RouteArm[], additions: Additions): number {
  const costs = callsOf(request, arms, additions, tokensAtMost).map(({ arm, prompt }) =>
    costAtMost(arm, prompt, request.params.maxTokens, request.passthrough),
  );
  return Math.min(Math.max(0, ...costs), request.allow.maxCost ?? Infinity);
}

/** Estimated answer without a bound in the request; the usage corrects limits per minute. */
const usualAnswer = 1_024;

/** Estimated tokens of one call: the prompt, and the longest answer that the request allows. */
export const mostTokens = (request: Asked, arms: readonly RouteArm[], additions: Additions): number =>
  Math.max(
    0,
    ...callsOf(request, arms, additions, estimateTokens).map(({ prompt, completion, arm: { contextTokens } }) => {
      const answer = request.params.maxTokens === null ? Math.min(completion, usualAnswer) : completion;
      return Math.min(prompt + answer, contextTokens ?? Infinity);
    }),
  );
