// The price catalogue: models of providers with their prices in US dollars, from the package
// @pydantic/genai-prices (MIT), which includes the data. Nothing is fetched.
import { createRequire } from "node:module";
import type * as Package from "@pydantic/genai-prices";
import type { PriceBand, Prices } from "./price-bands.ts";

export interface CatalogueEntry {
  provider: string;
  model: string;
  /** At least one; the first is the fallback. */
  bands: PriceBand[];
  /** The model's context, in tokens. */
  contextTokens?: number | undefined;
}

// Loaded on first use: loading takes 40 ms.
const load = (): typeof Package => createRequire(import.meta.url)("@pydantic/genai-prices") as typeof Package;

const remedy = "write the prices themselves, { prompt, completion, ... }";

/** Finds an entry by provider/model, or by endpoint and model. A string: why there is none. */
export function catalogueEntry(
  of: { name: string } | { baseUrl?: string | undefined; model?: string | undefined },
): CatalogueEntry | string {
  const { calcPrice, findProvider } = load();
  let [provider, model]: [Package.Provider | undefined, string] = [undefined, ""];
  if ("name" in of) {
    const [id = "", ...rest] = of.name.split("/");
    model = rest.join("/");
    if (model === "")
      return `"${of.name}" is no entry of the price catalogue: write provider/model, such as openai/gpt-4o-mini`;
    provider = findProvider({ providerId: id });
    if (provider?.id !== id) return `the price catalogue has no provider "${id}": name another, or ${remedy}`;
  } else {
    if (of.baseUrl === undefined || of.model === undefined)
      return `the price catalogue finds prices by an endpoint's address and model, which this arm lacks: write catalogue: provider/model, or ${remedy}`;
    model = of.model;
    provider = findProvider({ providerApiUrl: of.baseUrl });
    if (provider === undefined)
      return `the price catalogue has no provider at ${new URL(of.baseUrl).host}: write { catalogue: provider/model }, or ${remedy}`;
  }
  const found = calcPrice({ input_tokens: 0, output_tokens: 0 }, model, { provider });
  if (found === null)
    return `the price catalogue has no model "${model}" of ${provider.id}: write { catalogue: provider/model } with one that it has, or ${remedy}`;
  const bands = bandsOf(found.model.prices);
  if (bands === null)
    return `the price catalogue has no prices by tokens of prompt and completion alone for "${model}" of ${provider.id}: ${remedy}`;
  const contextTokens = found.model.context_window;
  return { provider: found.provider.id, model: found.model.id, bands, contextTokens };
}

/** null: tokens have no price, or are not all that has one. */
function bandsOf(prices: Package.ModelInfo["prices"]): PriceBand[] | null {
  const conditional = Array.isArray(prices) ? prices : [{ prices }];
  const bands: PriceBand[] = [];
  for (const [index, { prices: ofTime, constraint }] of conditional.entries()) {
    if (ofTime.requests_kcount !== undefined) return null;
    const starts = Object.values(ofTime).flatMap((price) =>
      typeof price === "object" ? price.tiers.map(({ start }) => start) : [],
    );
    for (const above of [undefined, ...[...new Set(starts)].sort((one, other) => one - other)]) {
      const listed = pricesOf(ofTime, above);
      if (listed === null) return null;
      // The first is the fallback, as in the package.
      const when = index === 0 || constraint === undefined ? {} : whenOf(constraint);
      bands.push({ prices: listed, ...when, ...(above !== undefined && { above }) });
    }
  }
  return bands;
}

function pricesOf(prices: Package.ModelPrice, above = -1): Prices | null {
  const price = (name: string): number | undefined => {
    const listed = prices[name];
    if (typeof listed !== "object") return listed;
    return listed.tiers.findLast(({ start }) => start <= above)?.price ?? listed.base;
  };
  const [prompt, completion] = [price("input_mtok"), price("output_mtok")];
  if (prompt === undefined || completion === undefined) return null;
  return {
    ...{ prompt, completion },
    cachedPrompt: price("cache_read_mtok") ?? prompt,
    cacheWrite: price("cache_write_mtok") ?? prompt,
    reasoning: price("output_reasoning_mtok") ?? completion,
  };
}

function whenOf(constraint: NonNullable<Package.ConditionalPrice["constraint"]>): Pick<PriceBand, "from" | "hours"> {
  return constraint.type === "start_date"
    ? { from: Date.parse(constraint.start_date) }
    : { hours: [secondsOf(constraint.start_time), secondsOf(constraint.end_time)] };
}

/** Seconds of the day of a time in UTC, 00:30:00Z. */
function secondsOf(time: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = time.replace("Z", "").split(":").map(Number);
  return hours * 3_600 + minutes * 60 + seconds;
}
