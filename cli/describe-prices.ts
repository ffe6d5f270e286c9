// The prices of each arm and their sources.
import { pricesAt, type Prices } from "../config/price-bands.ts";
import { priceList, priceSource } from "../config/prices.ts";
import type { ArmConfig } from "../config/schema.ts";

/** One line for each arm with prices: the prices at `now`. */
export function describePrices(arms: readonly ArmConfig[], now = Date.now()): string[] {
  return arms.flatMap((arm) => {
    const list = priceList(arm);
    const prices = pricesAt(list, now, 0);
    if (Object.values(prices).every((price) => price === 0)) return [];
    const entry = priceSource(arm);
    const own = arm.prices === "catalogue" ? {} : arm.prices;
    const from = (name: keyof Prices): string => {
      if (own[name] !== undefined) return "";
      if (entry !== null) return ` (catalogue: ${entry})`;
      return ` (as ${name === "reasoning" ? "completion" : "prompt"})`;
    };
    const names = ["prompt", "cachedPrompt", "cacheWrite", "completion", "reasoning"] as const;
    const tiers = (list.bands?.length ?? 0) > 1 ? "; others at other times or for long prompts" : "";
    return [
      `${arm.name}: ${names.map((name) => `${name} ${Number(prices[name].toPrecision(6))}${from(name)}`).join(", ")}${tiers}`,
    ];
  });
}
