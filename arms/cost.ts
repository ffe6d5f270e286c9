// What an answer costs, and each arm's relative cost (C_i of docs/design/routing.md, Cost).
import { isObject, jsonOf, listOf } from "../algorithms/text/json-shape.ts";
import { nativeMember } from "../algorithms/text/message-blocks.ts";
import { tokensAtMost } from "../algorithms/text/tokens.ts";
import type { ArmConfig } from "../config/schema.ts";
import type { Usage } from "../schemas/types.ts";
import { pricesAt, pricesUpTo, type PriceList, type Prices } from "../config/price-bands.ts";
import { priceList } from "../config/prices.ts";

const million = 1_000_000;
// An arm's price is taken at this mix of tokens: prompts with examples are long, answers short.
const promptShare = 0.75;

interface Tokens
  extends Pick<Usage, "prompt" | "completion">, Partial<Pick<Usage, "cached" | "cacheWrite" | "reasoning">> {
  /** Part of cacheWrite that is kept for an hour. */
  hourWrite?: number | undefined;
  toolUses?: number | undefined;
  isRegional?: boolean | undefined;
}

/** Anthropic: five minutes at 1.25 times the prompt's price, an hour at twice that price. */
const hourPrice = ({ prompt, cacheWrite }: Prices): number =>
  cacheWrite > prompt ? Math.max(cacheWrite, 2 * prompt) : cacheWrite;

/** Anthropic's price of tokens that are computed in one country, of the price elsewhere. */
const regionalShare = 1.1;

/** A part of `whole`, whatever a log says of it. */
const within = (part: number | undefined, whole: number): number =>
  part !== undefined && part > 0 ? Math.min(part, whole) : 0;

/**
 * In the prices' currency, at the prices of time `at`. Details beyond their whole are cut to it,
 * negative and missing ones are none. Linked tokens cost as prompt tokens.
 */
export function answerCost(usage: Tokens, list: PriceList, at = Date.now()): number {
  const [prompt, completion] = [Math.max(0, usage.prompt), Math.max(0, usage.completion)];
  const cached = within(usage.cached, prompt);
  const written = within(usage.cacheWrite, prompt - cached);
  const reasoning = within(usage.reasoning, completion);
  const hour = within(usage.hourWrite, written);
  const prices = pricesAt(list, at, prompt);
  const writes = (written - hour) * prices.cacheWrite + hour * hourPrice(prices);
  const input = (prompt - cached - written) * prices.prompt + cached * prices.cachedPrompt + writes;
  const tokens = input + (completion - reasoning) * prices.completion + reasoning * prices.reasoning;
  const uses = (Math.max(0, usage.toolUses ?? 0) * (list.toolUses ?? 0)) / 1_000;
  return (tokens * (usage.isRegional === true ? regionalShare : 1)) / million + uses;
}

/** C_i, [0, 1]: relative to the most expensive arm, or as configured; 0 without prices. */
export function normalisedCosts(arms: readonly ArmConfig[], at = Date.now()): Map<string, number> {
  const prices = arms.map((arm) => mixedPrice(pricesAt(priceList(arm), at, 0)));
  const highest = Math.max(0, ...prices);
  return new Map(
    arms.map((arm, index) => [arm.name, arm.cost ?? (highest === 0 ? 0 : (prices[index] ?? 0) / highest)]),
  );
}

const mixedPrice = ({ prompt, completion }: Prices): number => promptShare * prompt + (1 - promptShare) * completion;

/** What a call costs with that share of its prompt cached, [0, 1], of what it costs without. */
export function cachedCostShare(list: PriceList, cached: number, at = Date.now()): number {
  const prices = pricesAt(list, at, 0);
  const whole = mixedPrice(prices);
  const prompt = cached * prices.cachedPrompt + (1 - cached) * prices.prompt;
  return whole > 0 ? mixedPrice({ ...prices, prompt }) / whole : 1;
}

/** Context of a model that neither configuration nor catalogue describes. */
const assumedTokens = 131_072;

/** What bounds the cost of an arm's calls. */
export interface Priced {
  /** The model's context; absent: unknown. */
  contextTokens?: number | undefined;
  /** Longest answer where the request does not say. */
  maxTokens: number;
  prices: PriceList;
  /** Further members of every call; they replace a request's. */
  body?: Readonly<Record<string, unknown>> | undefined;
}

export function pricedOf(arm: ArmConfig): Priced {
  const prices = priceList(arm);
  const own = "contextTokens" in arm ? arm.contextTokens : undefined;
  const contextTokens = own ?? prices.contextTokens;
  const most = "maxOutputTokens" in arm ? arm.maxOutputTokens : undefined;
  const maxTokens = arm.maxTokens ?? most ?? contextTokens ?? assumedTokens;
  return { contextTokens, maxTokens, prices, body: "body" in arm ? arm.body : undefined };
}

/**
 * What a call may cost: of that many prompt tokens and those of the arm's body, and the longest
 * answer that it asks for, at the highest prices that may hold for them. Only what passes through
 * or is in the arm's body can ask for an hour's cache.
 */
export function costAtMost(
  { contextTokens: most = Infinity, body = {}, ...arm }: Priced,
  prompt: number,
  maxTokens: number | null,
  passthrough: string | null = null,
): number {
  const own = Object.keys(body).length === 0 ? "" : JSON.stringify(body);
  const [input, output] = [Math.min(prompt + tokensAtMost(own), most), Math.min(maxTokens ?? arm.maxTokens, most)];
  const mayKeep = passthrough !== null || own.includes("cache_control");
  const costs = pricesUpTo(arm.prices, input).map(
    (one) =>
      input * Math.max(one.prompt, one.cachedPrompt, mayKeep ? hourPrice(one) : one.cacheWrite) +
      output * Math.max(one.completion, one.reasoning),
  );
  const { toolUses, isRegional } = askedBeside(passthrough, body);
  return (
    (Math.max(...costs) * (isRegional ? regionalShare : 1)) / million + (toolUses * (arm.prices.toolUses ?? 0)) / 1_000
  );
}

/** Searches of a call whose client sets no bound (max_uses). */
const assumedSearches = 20;

/** What a body of the Messages API may cost beside tokens at their prices. */
function askedBeside(passthrough: string | null, own: object): { toolUses: number; isRegional: boolean } {
  const members = passthrough === null ? null : jsonOf(passthrough);
  const native = isObject(members) ? members[nativeMember] : null;
  const body: Record<string, unknown> = { ...(isObject(native) ? native : {}), ...own };
  const uses = listOf(body["tools"]).map((tool) => {
    const { type, max_uses: most } = isObject(tool) ? tool : {};
    const name = typeof type === "string" ? type : "";
    if (name.startsWith("code_execution")) return 1;
    return name.startsWith("web_search") ? (typeof most === "number" && most >= 0 ? most : assumedSearches) : 0;
  });
  const { inference_geo: place = null } = body;
  return { toolUses: uses.reduce((sum, one) => sum + one, 0), isRegional: place !== null && place !== "global" };
}
