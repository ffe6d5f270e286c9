import { expect, test } from "vitest";
import { FEATURE_COUNT } from "../../algorithms/routing/features.ts";
import { valuesOf } from "../ladder/replay.ts";
import { ablationsOf } from "./ablations.ts";
import { type Arm, type ArmName, arms as all, cold, settingsOf } from "./arms.ts";
import { missingOf } from "./collect.ts";
import { completeOf, figuresOf } from "./figures.ts";
import { type Answers, keyOf, type Row } from "./log.ts";
import { rivalsAt } from "./rivals.ts";
import type { Served } from "./rounds.ts";
import type { Domain } from "./stream.ts";

const cpu: Partial<Record<ArmName, number>> = { "small-without": 2, "large-without": 8, "small-built": 0.5 };

const domainOf = (position: number): Domain => (position % 2 === 0 ? "nl2bash" : "gsm8k");

/** Half of the requests are problems, that the large arm alone solves. */
function answersTo(count: number): Answers {
  const rows = Array.from({ length: count }, (_, position) =>
    (all as readonly Arm[])
      .filter((arm) => cold.includes(arm) || position % 4 === 0)
      .filter(({ only = domainOf(position) }) => only === domainOf(position))
      .map((arm): Row => {
        const domain = domainOf(position);
        const isLarge = arm.name === "large-without";
        const loss = arm.pool === undefined ? 0 : 10 / arm.pool;
        const score = -loss + (domain === "gsm8k" ? Number(isLarge) : isLarge ? 0.4 : 0.6);
        return {
          ...{ position, hash: `h${position}`, domain, arm: arm.name, settings: settingsOf(arm) },
          ...{ score: domain === "gsm8k" ? 0 : score, lenient: score, copy: 0.5, similarity: position / count },
          cpu: { model: cpu[arm.name] ?? 1, ours: 5, servers: 5 },
          firstTokenMs: isLarge ? 1_000 : 400,
          usage: { prompt: 100, linked: 50, recomputed: 0, prefilled: 50, completion: 10 },
          finish: "stop",
          context: Array.from({ length: FEATURE_COUNT }, (_, k) => (k === 0 ? 1 : 0)),
          commit: null,
        };
      }),
  ).flat();
  const overhead = { ours: 0.3, servers: 0.2, requests: 10, in_flight: 16, alone_ms: 40 };
  return {
    sittings: [{ commit: null, date: "2026-11-26T00:00:00Z", overhead, build: null }],
    rows: new Map(rows.map((row) => [keyOf(row), row])),
  };
}

interface Summary {
  quality: number;
  win_rate: number;
  win_rate_low: number;
  cpu_s: number;
  throughput_ratio: number;
  shares: Record<string, number>;
}
interface Shown {
  n: number;
  primary: { throughput_ratio: number; met: boolean };
  arms: Record<string, Summary>;
  arms_by_domain: Record<string, Record<string, Summary>>;
  router: Summary;
  rivals: Record<string, (Summary & { threshold?: number }) | null>;
  strict: { arms: Record<string, Summary> };
  with_caches: { arms: Record<string, Summary> };
  caches: { n: number; built: { cpu_model_s: number }; cold: { cpu_model_s: number } };
}
const figures = (answers: Answers): Shown =>
  figuresOf(answers, { draws: 1, resamples: 50 }, null).figures as unknown as Shown;

test("figures count the model, what a request takes besides it, and pairs won", () => {
  const shown = figures(answersTo(40));
  const { n, arms, arms_by_domain: byDomain, strict, caches, with_caches: withCaches, router, rivals, primary } = shown;
  expect(n).toBe(40);
  expect(arms["small-with"]).toMatchObject({ quality: 0.3, win_rate: 0.5, cpu_s: 1.5, ttft_ms: 400, ttft_ratio: 0.4 });
  expect(arms["large-without"]).toMatchObject({ quality: 0.7, win_rate: 0.5, cpu_s: 8.5 });
  expect(arms["reuse"]).toMatchObject({ cpu_s: 0.5, ttft_ms: 40 });
  // The large model called directly takes nothing of ours.
  expect(arms["small-with"]!.throughput_ratio).toBeCloseTo(8 / 1.5, 2);
  expect(byDomain["nl2bash"]!["small-with"]!.win_rate).toBe(1);
  expect(byDomain["gsm8k"]!["small-with"]!.win_rate).toBe(0);
  // Without a #### no problem is solved: all pairs are ties.
  expect(strict.arms["small-with"]).toMatchObject({ quality: 0.3, win_rate: 0.75 });
  expect(caches).toMatchObject({ n: 10, built: { cpu_model_s: 0.5 }, cold: { cpu_model_s: 1 } });
  // A quarter of the answers have built caches; the others count as they are.
  expect(withCaches.arms["small-with"]!.cpu_s).toBeCloseTo(1.5 - 0.5 / 4, 3);
  expect(withCaches.arms["large-without"]).toEqual(arms["large-without"]);
  // The router has learnt something of the domains.
  const total = Object.values(router.shares).reduce((sum, share) => sum + share, 0);
  expect(total).toBeCloseTo(1, 2);
  expect(router.quality).toBeGreaterThan(rivals["coin"]!.quality);
  expect(rivals["by_domain"]).toMatchObject({ quality: 0.8, win_rate: 0.75 });
  expect(rivals["token_bucket"]).toBeNull();
  expect(primary.throughput_ratio).toBe(router.throughput_ratio);
  expect(primary.met).toBe(router.win_rate_low >= 0.5);
});

test("ablations stand beside the whole pool and beside no examples, on the same requests", () => {
  const answers = answersTo(40);
  expect(figuresOf(answers, { draws: 1, resamples: 50 }, null).figures["ablations"]).toMatchObject({
    nl2bash: {
      "small-fixed": { n: 10, quality: 0.6, shown: null, beside_small_without: { gain: 0, cpu_model_s: 2 } },
      "small-pool-100": { n: 10, quality: 0.5, beside_small_with: { gain: -0.1, gain_low: -0.1, gain_high: -0.1 } },
      "small-pool-1000": { n: 10, quality: 0.59 },
    },
  });
  // Pairs alone count.
  answers.rows.delete(keyOf({ position: 0, arm: "small-without" }));
  expect(ablationsOf(answers, 50)).toMatchObject({ nl2bash: { "small-pool-100": { n: 9 } } });
  for (const [key, { arm }] of answers.rows) if (arm === "small-with") answers.rows.delete(key);
  expect(ablationsOf(answers, 50)).toBeNull();
});

test("a threshold is the best in hindsight, and may take the large arm for all", () => {
  const round = (similarity: number | null, small: number): Served => ({
    ...{ domain: "nl2bash", similarity, contexts: [[1], [1], [1]] },
    ...{ quality: [small, 0, 0.5, small], cpu: [1, 1, 1, 1] },
  });
  const taken = (rounds: Served[]) => rivalsAt(rounds, valuesOf(rounds, 0, 1), 0.5)["threshold_small"]!;
  expect(taken([round(0.2, 0), round(0.9, 1), round(null, 1)])).toMatchObject({
    threshold: 0.9,
    choices: [
      [0, 0, 1, 0],
      [1, 0, 0, 0],
      [0, 0, 1, 0],
    ],
  });
  expect(taken([round(0.9, 0), round(0.2, 0)]).choices).toEqual([
    [0, 0, 1, 0],
    [0, 0, 1, 0],
  ]);
});

test("only requests that every arm answered count, and only what is missing is asked", () => {
  const answers = answersTo(8);
  answers.rows.delete(keyOf({ position: 3, arm: "large-without" }));
  answers.rows.delete(keyOf({ position: 4, arm: "small-built" }));
  answers.rows.get(keyOf({ position: 5, arm: "small-with" }))!.hash = "of another request";
  expect(completeOf(answers.rows.values())).toEqual([0, 1, 2, 4, 5, 6, 7]);
  const items = Array.from({ length: 8 }, (_, position) => ({
    ...{ position, domain: "nl2bash" as const, request: "", hash: `h${position}` },
    ...{ score: () => 0, lenient: () => 0 },
  }));
  const missing = missingOf({ items, arms: cold, answers }).map(({ item, arm }) => `${item.position} ${arm.name}`);
  expect(missing).toEqual(["3 large-without", "5 small-with"]);
  // Another arm begins each time.
  const none: Answers = { sittings: [], rows: new Map() };
  const firsts = [0, 1, 2, 3].map((at) => missingOf({ items: [items[at]!], arms: cold, answers: none })[0]);
  expect(firsts.map((first) => first?.arm.name)).toEqual([
    "small-with",
    "small-without",
    "large-without",
    "small-with",
  ]);
});
