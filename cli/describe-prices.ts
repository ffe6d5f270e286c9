// The prices of each arm and their sources.
import { pricesAt, type Prices } from "../config/price-bands.ts";
import { priceList, priceSource } from "../config/prices.ts";
import type { ArmConfig } from "../config/schema.ts";

/** A line for each arm, with its prices at `now`; none where no arm has prices. */
export function describePrices(arms: readonly ArmConfig[], now = Date.now()): string[] {
  const pricesOf = (arm: ArmConfig): Prices => pricesAt(priceList(arm), now, 0);
  const isFree = (arm: ArmConfig): boolean => Object.values(pricesOf(arm)).every((price) => price === 0);
  if (arms.every(isFree)) return [];
  return arms.flatMap((arm) => {
    if (isFree(arm))
      return arm.cost === undefined && arm.type !== "reuse" ? [`${arm.name}: none, so routing takes it for free`] : [];
    const list = priceList(arm);
    const prices = pricesOf(arm);
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
