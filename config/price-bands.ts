// Prices of tokens by time and by length of the prompt, per million tokens in the prices' currency.

export interface Prices {
  prompt: number;
  /** Prompt tokens that the endpoint had cached, and those that it wrote to its cache. */
  cachedPrompt: number;
  cacheWrite: number;
  completion: number;
  /** Reasoning tokens of the completion. */
  reasoning: number;
}
export type SomePrices = { [P in keyof Prices]?: number | undefined };

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
export interface PriceList extends SomePrices {
  prompt: number;
  completion: number;
  /** Per thousand uses of the provider's tools. */
  toolUses?: number | undefined;
  bands?: readonly PriceBand[];
  /** The model's context, as the catalogue has it. */
  contextTokens?: number | undefined;
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
