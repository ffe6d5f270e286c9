// What an arm's tokens cost, as its configuration and the price catalogue say, at any time and for
// any length of prompt. In the prices' currency, per million tokens.
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

/** Prices that hold from a time on, in hours of the day, or for prompts beyond a length. */
export interface PriceBand {
  prices: Prices;
  /** Milliseconds since the epoch. */
  from?: number;
  /** Seconds of the UTC day, end excluded; the first may be the later one. */
  hours?: readonly [number, number];
  /** Prompt tokens beyond which the prices hold, for all tokens. */
  above?: number;
}

/** The last of several bands that hold applies; absent cached prices are the prompt's. */
export interface PriceList extends Some {
  prompt: number;
  completion: number;
  bands?: readonly PriceBand[];
}

/** The prices of an arm's section. */
export type ConfiguredPrices = "catalogue" | (Some & { catalogue?: string | undefined });

export interface PricedArm {
  name: string;
  prices: ConfiguredPrices;
  /** openai arms: what the catalogue finds provider and model by. */
  baseUrl?: string | undefined;
  endpoints?: readonly { baseUrl: string }[] | undefined;
  model?: string | undefined;
}

const lists = new WeakMap<PricedArm, PriceList>();

/** Throws RangeError where the catalogue lacks what is named; priceProblem() says so before. */
export function priceList(arm: PricedArm): PriceList {
  let list = lists.get(arm);
  if (list === undefined) {
    const found = listOf(arm);
    if (typeof found === "string") throw new RangeError(`arm "${arm.name}": ${found}`);
    lists.set(arm, (list = found));
  }
  return list;
}

/** Why an arm's prices are not known, and what to do; null: they are. */
export function priceProblem(arm: PricedArm): string | null {
  const list = listOf(arm);
  return typeof list === "string" ? list : null;
}

/** The catalogue's provider/model that an arm's prices are from; null: all are configured. */
export function priceSource(arm: PricedArm): string | null {
  const entry = entryOf(arm);
  return entry === null || typeof entry === "string" ? null : `${entry.provider}/${entry.model}`;
}

const entryOf = ({
  prices,
  endpoints,
  baseUrl = endpoints?.[0]?.baseUrl,
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
  const { catalogue: _name, ...own }: Some & { catalogue?: string | undefined } =
    arm.prices === "catalogue" ? {} : arm.prices;
  if (entry === null) {
    const { prompt, completion } = own;
    if (prompt !== undefined && completion !== undefined) return { ...own, prompt, completion };
    return "needs prompt and completion, or the catalogue's name of a model (catalogue: provider/model)";
  }
  const bands = entry.bands.map((band) => ({ ...band, prices: overridden(band.prices, own) }));
  return { ...bands[0]!.prices, bands };
}

/** Prices that depend on an overridden one keep their share of it. */
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

/** The prices of a call at `at` (milliseconds since the epoch) with so many prompt tokens. */
export function pricesAt(list: PriceList, at: number, prompt: number): Prices {
  return list.bands?.findLast((band) => holds(band, at) && prompt > (band.above ?? -1))?.prices ?? plain(list);
}

/** All that may hold, whenever, for prompts of at most so many tokens. */
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
