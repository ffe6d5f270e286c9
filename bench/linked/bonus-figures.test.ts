import { expect, it } from "vitest";
import type { BonusAsked } from "./bonus.ts";
import { bonusRows } from "./bonus-figures.ts";

const asked = (bonus: number, request: number, more: Partial<BonusAsked> = {}): BonusAsked => ({
  ...{ bonus, request, shown: 2, cached: 0, helpfulness: 1.4, ids: "a,b" },
  ...{ ttftMs: 200, ttftCpuMs: 100, loadingMs: 1, linked: 10, recomputed: 20, prefilled: 70 },
  ...more,
});

it("sets every bonus beside none on the same requests", () => {
  const rows = bonusRows("proxy", [
    asked(0.05, 0, { cached: 2, helpfulness: 1.3, ids: "c,b", linked: 40, prefilled: 40, ttftCpuMs: 60 }),
    asked(0, 0),
    asked(0, 1, { cached: 1 }),
    asked(0.05, 1, { cached: 1, ttftCpuMs: 80 }),
  ]);
  expect(rows).toHaveLength(2);
  expect(rows[0]).toMatchObject({ bonus: 0, n: 2, shown: 2, at_hand: 0.25, linked: 0.1, recomputed: 0.2 });
  expect(rows[0]).toMatchObject({ helpfulness_mean: 0.7, given_up: 0, changed: 0, ttft_cpu_difference: null });
  // Per example: half of what the two lost together on the first request, and nothing on the
  // second.
  expect(rows[1]).toMatchObject({ bonus: 0.05, at_hand: 0.75, linked: 0.25, prefilled: 0.55, changed: 0.5 });
  expect(rows[1]).toMatchObject({ given_up: 0.025, given_up_most: 0.05, ttft_cpu_difference: -30 });
});
