// Prices of an arm's tokens from its configuration and the price catalogue, by time and by length
// of the prompt. In the prices' currency, per million tokens.
import { anthropicUrl } from "./sections/arms.ts";
import { catalogueEntry, type CatalogueEntry } from "./price-catalogue.ts";

export interface Prices {
  prompt: number;
  /** Prompt tokens that the endpoint had cached, and those that it wrote to its cache. */
  cachedPrompt: number;
  cacheWrite: number;
  completion: number;
  /** Reasoning tokens of the completion. */
  reasoning: number;
}
type Some = { [P in keyof Prices]?: number | undefined };

/** Prices that apply from a time on, in hours of the day, or above a length of the prompt. */
export interface PriceBand {
  prices: Prices;
  /** Milliseconds since the epoch. */
  from?: number;
  /** Seconds of the UTC day, end excluded; start > end spans midnight. */
  hours?: readonly [number, number];
  /** Prompt tokens above which the prices apply to all tokens. */
  above?: number;
}

/** The last matching band applies. Absent cached prices default to the prompt's price. */
export interface PriceList extends Some {
  prompt: number;
  completion: number;
  bands?: readonly PriceBand[];
  /** The model's context, as the catalogue has it. */
  contextTokens?: number | undefined;
}

/** The prices of an arm's section. */
export type ConfiguredPrices =
  "catalogue" | (Some & { catalogue?: string | undefined; batchShare?: number | undefined });

export interface PricedArm {
  name: string;
  type?: string;
  prices: ConfiguredPrices;
  /** openai arms: for the lookup of provider and model in the catalogue. */
  baseUrl?: string | undefined;
  endpoints?: readonly { baseUrl: string }[] | undefined;
  model?: string | undefined;
  batch?: string | undefined;
}

/** What providers take for a batch, as a share of the price of a call. */
const usualBatchShare = 0.5;

const lists = new WeakMap<PricedArm, PriceList>();

/** Throws RangeError if the catalogue has no such entry; check with priceProblem() first. */
export function priceList(arm: PricedArm): PriceList {
  let list = lists.get(arm);
  if (list === undefined) {
    const found = listOf(arm);
    if (typeof found === "string") throw new RangeError(`arm "${arm.name}": ${found}`);
    lists.set(arm, (list = found));
  }
  return list;
}

/** Why an arm's prices are unknown, and what to do; null: they are known. */
export function priceProblem(arm: PricedArm): string | null {
  const list = listOf(arm);
  return typeof list === "string" ? list : null;
}

/** The catalogue's provider/model for an arm's prices; null: all are configured. */
export function priceSource(arm: PricedArm): string | null {
  const entry = entryOf(arm);
  return entry === null || typeof entry === "string" ? null : `${entry.provider}/${entry.model}`;
}

const entryOf = ({
  prices,
  endpoints,
  type,
  baseUrl = endpoints?.[0]?.baseUrl ?? (type === "anthropic" ? anthropicUrl : undefined),
  model,
}: PricedArm): CatalogueEntry | string | null =>
  prices === "catalogue"
    ? catalogueEntry({ baseUrl, model })
    : prices.catalogue === undefined
      ? null
      : catalogueEntry({ name: prices.catalogue });

function listOf(arm: PricedArm): PriceList | string {
  const entry = entryOf(arm);
  if (typeof entry === "string") return entry;
  const { catalogue: _name, batchShare = usualBatchShare, ...own } = arm.prices === "catalogue" ? {} : arm.prices;
  const charged = <P extends Some>(prices: P): P => (arm.batch === "provider" ? scaled(prices, batchShare) : prices);
  if (entry === null) {
    const { prompt, completion } = own;
    if (prompt !== undefined && completion !== undefined) return charged({ ...own, prompt, completion });
    return "needs prompt and completion, or the catalogue's name of a model (catalogue: provider/model)";
  }
  const bands = entry.bands.map((band) => ({ ...band, prices: charged(overridden(band.prices, own)) }));
  return { ...bands[0]!.prices, bands, contextTokens: entry.contextTokens };
}

const scaled = <P extends Some>(prices: P, share: number): P =>
  Object.fromEntries(
    Object.entries(prices as Record<string, number | undefined>).map(([kind, price]) => [kind, price && price * share]),
  ) as P;

/** Derived prices keep their ratio to an overridden price. */
function overridden(of: Prices, own: Some): Prices {
  const { prompt = of.prompt, completion = of.completion } = own;
  const shareOf = (part: number, whole: number, now: number): number => (whole > 0 ? (part / whole) * now : now);
  return {
    ...{ prompt, completion },
    cachedPrompt: own.cachedPrompt ?? shareOf(of.cachedPrompt, of.prompt, prompt),
    cacheWrite: own.cacheWrite ?? shareOf(of.cacheWrite, of.prompt, prompt),
    reasoning: own.reasoning ?? shareOf(of.reasoning, of.completion, completion),
  };
}

/** Prices of a call at `at` (milliseconds since the epoch) with `prompt` tokens. */
export function pricesAt(list: PriceList, at: number, prompt: number): Prices {
  return list.bands?.findLast((band) => holds(band, at) && prompt > (band.above ?? -1))?.prices ?? plain(list);
}

/** All prices that may apply at any time to a prompt of at most `prompt` tokens. */
export const pricesUpTo = (list: PriceList, prompt: number): Prices[] =>
  list.bands?.filter(({ above = -1 }) => prompt > above).map(({ prices }) => prices) ?? [plain(list)];

const plain = ({
  prompt,
  completion,
  cachedPrompt = prompt,
  cacheWrite = prompt,
  reasoning = completion,
}: PriceList) => ({
  ...{ prompt, cachedPrompt, cacheWrite, completion, reasoning },
});

function holds({ from = -Infinity, hours }: PriceBand, at: number): boolean {
  if (at < from || hours === undefined) return at >= from;
  const second = (at / 1_000) % 86_400;
  const [start, end] = hours;
  return end < start ? second >= start || second < end : second >= start && second < end;
}
