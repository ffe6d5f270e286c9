import { describe, expect, it } from "vitest";
import { bestOf, klDifferences, rowsOf } from "./figures.ts";
import type { Measured, Outcome } from "./measure.ts";

const outcome = (policy: string, more: Partial<Outcome> = {}): Outcome => ({
  convention: policy === "full" ? null : "context",
  policy,
  recomputed: policy === "full" ? 1 : 0.2,
  kl: 0,
  firstKl: 0,
  rougeL: 1,
  f1: 0.5,
  f1WithFull: 1,
  ttftMs: 1000,
  cpuMs: 1200,
  ...more,
});

describe("rowsOf", () => {
  const measured: Measured[] = [
    { tokens: 400, outcomes: [outcome("full"), outcome("last-2", { kl: 0.1, f1: 0.4, ttftMs: 250 })] },
    {
      tokens: 500,
      outcomes: [
        outcome("full", { ttftMs: 1200 }),
        outcome("last-2", { kl: 0.2, f1: 0.6, ttftMs: 200 }),
        outcome("naive", { kl: 0.3, recomputed: 0 }),
      ],
    },
  ];

  it("means over requests, medians of times, ratios on the same requests", () => {
    const [full, last, naive] = rowsOf("nl2bash-10", measured);
    expect(full).toMatchObject({ policy: "full", convention: null, n: 2, kl: 0, f1_difference: 0, ttft_ratio: 1 });
    expect(last).toMatchObject({ policy: "last-2", n: 2, f1: 0.5, f1_difference: 0, ttft_ms: 225, ttft_ratio: 5 });
    expect(last).toMatchObject({ tokens: 450, ttft_min: 200, ttft_max: 250 });
    expect(last?.kl).toBeCloseTo(0.15);
    expect(last?.f1_low).toBeCloseTo(-0.1);
    expect(naive).toMatchObject({ n: 1, kl: 0.3 });
  });

  it("says nothing of answers without references", () => {
    const without = [{ tokens: 9, outcomes: [outcome("full", { f1: null }), outcome("naive", { f1: null })] }];
    for (const row of rowsOf("sweep-1000", without)) expect(row).toMatchObject({ f1: null, f1_low: null });
  });

  it("refuses a request without its full prefill", () => {
    expect(() => rowsOf("nl2bash-10", [{ tokens: 9, outcomes: [outcome("naive")] }])).toThrow(/in full/);
  });

  it("finds the least KL among what recomputes at most a quarter of every request", () => {
    const outcomes = [
      outcome("full"),
      outcome("naive", { kl: 0.3, recomputed: 0 }),
      outcome("last-2", { kl: 0.1 }),
      outcome("last-3", { kl: 0.05, recomputed: 0.3 }),
    ];
    const rows = rowsOf("nl2bash-10", [
      { tokens: 9, outcomes },
      { tokens: 9, outcomes: [...outcomes, outcome("blend-15", { kl: 0.01 })] },
    ]);
    expect(bestOf(rows, "nl2bash-10")?.policy).toBe("last-2");
    expect(bestOf(rows, "nl2bash-20")).toBeUndefined();
  });
});

describe("klDifferences", () => {
  const against = { convention: "context", policy: "naive" } as const;
  const requests = (...kls: [number, number][]): Measured[] =>
    kls.map(([naive, last]) => ({
      tokens: 9,
      outcomes: [outcome("full"), outcome("naive", { kl: naive }), outcome("last-1", { kl: last })],
    }));

  it("are those of the same requests, so that what is hard for both does not widen them", () => {
    const [found, ...more] = klDifferences("musique-200", requests([0.9, 0.8], [0.2, 0.1], [0.15, 0.05]), against);
    expect(more).toEqual([]);
    expect(found).toMatchObject({ convention: "context", policy: "last-1", against: "context, naive", n: 3 });
    expect(found?.difference).toBeCloseTo(-0.1);
    expect(found?.high).toBeCloseTo(-0.1);
  });

  it("leave out what has nothing to be compared with", () => {
    const [first, second] = requests([0.1, 0.2], [0.3, 0.4]);
    const lacking = { ...second!, outcomes: second!.outcomes.slice(0, 2) };
    expect(klDifferences("musique-200", [first!, lacking], against)[0]?.n).toBe(1);
    expect(klDifferences("musique-200", [], against)).toEqual([]);
  });
});
