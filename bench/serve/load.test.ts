import { expect, test } from "vitest";
import { FEATURE_COUNT } from "../../algorithms/routing/features.ts";
import { loadFigures } from "./load.ts";
import { serveQueued } from "./queue.ts";
import type { Served } from "./rounds.ts";
import type { Field } from "./summary.ts";

const roundWith = (cpu: number[], quality = [0.4, 0.3, 0.8, 0.1]): Served => ({
  ...{ domain: "nl2bash", similarity: 0.5, cpu, quality },
  contexts: [0, 1, 2].map(() => [1, ...Array.from({ length: FEATURE_COUNT - 1 }, () => 0)]),
});
const arms = [
  { name: "small-with", cost: 0.5 },
  { name: "small-without", cost: 0.4 },
  { name: "large-without", cost: 1 },
];

test("requests wait for those before them on the same core, and arms are as busy as they have unfinished work", () => {
  const rounds = [4, 4, 4].map((seconds) => roundWith([1, 1, seconds, 0]));
  const seen: number[] = [];
  const finished: number[] = [];
  const answered = serveQueued(rounds, [0, 1, 20], arms, {
    choose(_item, _now, { byArm }) {
      seen.push(byArm.get("large-without")!);
      return 2;
    },
    finished: (item) => finished.push(item),
  });
  expect(answered.map(({ seconds }) => seconds)).toEqual([4, 7, 4]);
  expect(finished).toEqual([0, 1]);
  // One unfinished for a second, half-life 10 s.
  expect(seen[0]).toBe(0);
  expect(seen[1]).toBeCloseTo(1 - 2 ** -0.1, 12);
  // 2 unfinished from 1 to 4, 1 to 8, none to 20.
  const at4 = 2 + (seen[1]! - 2) * 2 ** -0.3;
  expect(seen[2]).toBeCloseTo((1 + (at4 - 1) * 2 ** -0.4) * 2 ** -1.2, 12);
});

test("under twice what the large model takes the router turns to cheaper arms, without load it does not", () => {
  const rounds = Array.from({ length: 120 }, () => roundWith([4, 3, 10, 0]));
  const field = { rounds, arms } as unknown as Field;
  const times = Array.from({ length: 400 }, (_, i) => 1_000 * i);
  const figures = loadFigures(field, { costWeight: 0.1, draws: 2, times }) as Record<
    string,
    Record<string, { p50_s: number; quality: number; shares: Record<string, number> }>
  >;
  expect(figures["capacity"]).toBe(0.1);
  // Alone the large model's queue grows by a request for each that it answers.
  expect(figures["0.5"]!["large-without"]).toMatchObject({ p50_s: 10, quality: 0.8 });
  expect(figures["2"]!["large-without"]!.p50_s).toBeCloseTo(10 + 5 * 59.5, 6);
  const { router, without_load: unaware, token_bucket: bucket } = figures["2"]!;
  expect(router!.shares["large-without"]!).toBeLessThan(0.5 * unaware!.shares["large-without"]!);
  expect(router!.p50_s).toBeLessThan(0.5 * unaware!.p50_s);
  expect(bucket!.p50_s).toBeLessThan(figures["2"]!["large-without"]!.p50_s);
});
