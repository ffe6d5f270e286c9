// Prices of an arm's tokens from its configuration and the price catalogue.
import { anthropicUrl } from "./sections/arms.ts";
import { catalogueEntry, type CatalogueEntry } from "./price-catalogue.ts";
import type { PriceList, Prices, SomePrices } from "./price-bands.ts";

/** The prices of an arm's section. */
export type ConfiguredPrices =
  | "catalogue"
  | (SomePrices & { [K in "batchShare" | "toolUses"]?: number | undefined } & { catalogue?: string | undefined });

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
/** Anthropic's thousand searches, in dollars: $10, also within batches. */
const usualToolUses = 10;

/** No model is so cheap; other gateways write the price of a single token. */
const leastPrice = 0.0001;

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
  const { prompt = 0, completion = 0 } = arm.prices === "catalogue" ? {} : arm.prices;
  if ([prompt, completion].some((price) => price > 0 && price < leastPrice))
    return `less than ${leastPrice} per million tokens, as if it were the price of one token: multiply it by 1,000,000`;
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
  const configured = arm.prices === "catalogue" ? {} : arm.prices;
  const { catalogue: _name, batchShare = usualBatchShare, toolUses, ...own } = configured;
  const charged = <P extends SomePrices>(prices: P): P =>
    arm.batch === "provider" ? scaled(prices, batchShare) : prices;
  if (entry === null) {
    const { prompt, completion } = own;
    const usual = [prompt, completion].some((price) => (price ?? 0) > 0) ? usualToolUses : 0;
    if (prompt !== undefined && completion !== undefined)
      return { ...charged({ ...own, prompt, completion }), toolUses: toolUses ?? usual };
    return "needs prompt and completion, or the catalogue's name of a model (catalogue: provider/model)";
  }
  const bands = entry.bands.map((band) => ({ ...band, prices: charged(overridden(band.prices, own)) }));
  return { ...bands[0]!.prices, bands, toolUses: toolUses ?? usualToolUses, contextTokens: entry.contextTokens };
}

const scaled = <P extends SomePrices>(prices: P, share: number): P =>
  Object.fromEntries(
    Object.entries(prices as Record<string, number | undefined>).map(([kind, price]) => [kind, price && price * share]),
  ) as P;

/** Derived prices keep their ratio to an overridden price. */
function overridden(of: Prices, own: SomePrices): Prices {
  const { prompt = of.prompt, completion = of.completion } = own;
  const shareOf = (part: number, whole: number, now: number): number => (whole > 0 ? (part / whole) * now : now);
  return {
    ...{ prompt, completion },
    cachedPrompt: own.cachedPrompt ?? shareOf(of.cachedPrompt, of.prompt, prompt),
    cacheWrite: own.cacheWrite ?? shareOf(of.cacheWrite, of.prompt, prompt),
    reasoning: own.reasoning ?? shareOf(of.reasoning, of.completion, completion),
  };
}
