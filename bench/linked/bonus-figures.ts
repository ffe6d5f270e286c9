// What was measured of the bonus for cached examples to rows: one for each bonus, beside none on
// the same requests. Pure.
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { pairedBootstrap } from "../support/bootstrap.ts";
import { mean, significant } from "../support/statistics.ts";
import type { BonusAsked } from "./bonus.ts";

export interface BonusRow {
  /** What helpfulness was predicted by. */
  helpfulness: "similarity" | "proxy";
  bonus: number;
  /** Requests, the warm-up left out. */
  n: number;
  /** Examples of a request, mean, and the share of them that were cached. */
  shown: number;
  at_hand: number;
  /** Shares of the tokens of all prompts. */
  linked: number;
  recomputed: number;
  prefilled: number;
  /** Means: they add up over a stream, and medians hide the prompts that miss a chunk. */
  ttft_ms: number;
  ttft_cpu_ms: number;
  /**
   * CPU time to the first token less that without bonus, mean over requests, 95 % by paired
   * bootstrap; null: without.
   */
  ttft_cpu_difference: number | null;
  ttft_cpu_low: number | null;
  ttft_cpu_high: number | null;
  /**
   * Mean helpfulness of a shown example; and how much less than without bonus: mean over requests,
   * and the request that lost most.
   */
  helpfulness_mean: number;
  given_up: number;
  given_up_most: number;
  /** Share of requests that were shown other examples than without. */
  changed: number;
}

export function bonusRows(helpfulness: BonusRow["helpfulness"], asked: readonly BonusAsked[]): BonusRow[] {
  const bonuses = [...new Set(asked.map(({ bonus }) => bonus))].sort((one, other) => one - other);
  const plain = new Map(asked.filter(({ bonus }) => bonus === bonuses[0]).map((one) => [one.request, one]));
  return bonuses.map((bonus, i): BonusRow => {
    const own = asked.filter((one) => one.bonus === bonus);
    const of = (value: (one: BonusAsked) => number): number[] => own.map(value);
    const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
    const tokens = sum(of(({ linked, recomputed, prefilled }) => linked + recomputed + prefilled));
    const share = (value: (one: BonusAsked) => number): number => significant(sum(of(value)) / tokens);
    const lost = own.map(({ request, helpfulness: total, shown }) => {
      const other = plain.get(request)!;
      return shown === 0 ? 0 : (other.helpfulness - total) / Math.max(shown, other.shown);
    });
    const against =
      i === 0
        ? null
        : pairedBootstrap(
            of(({ ttftCpuMs }) => ttftCpuMs),
            own.map(({ request }) => plain.get(request)!.ttftCpuMs),
            { random: splitmix64(9), resamples: 2_000 },
          );
    const shown = sum(of((one) => one.shown));
    return {
      ...{ helpfulness, bonus, n: own.length },
      shown: significant(shown / own.length),
      at_hand: significant(sum(of(({ cached }) => cached)) / shown),
      linked: share((one) => one.linked),
      recomputed: share((one) => one.recomputed),
      prefilled: share((one) => one.prefilled),
      ttft_ms: significant(mean(of(({ ttftMs }) => ttftMs))),
      ttft_cpu_ms: significant(mean(of(({ ttftCpuMs }) => ttftCpuMs))),
      ttft_cpu_difference: against === null ? null : significant(against.difference),
      ttft_cpu_low: against === null ? null : significant(against.low),
      ttft_cpu_high: against === null ? null : significant(against.high),
      helpfulness_mean: significant(sum(of((one) => one.helpfulness)) / shown),
      given_up: significant(mean(lost)),
      given_up_most: significant(Math.max(...lost)),
      changed: significant(mean(own.map(({ request, ids }) => Number(plain.get(request)!.ids !== ids)))),
    };
  });
}
