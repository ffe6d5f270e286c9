import { expect, test } from "vitest";
import { judgeFigures, type JudgedPair } from "./judge-figures.ts";

const pair = (metric: number, straight: number, swapped: number, more: Partial<JudgedPair> = {}): JudgedPair => ({
  ...{
    domain: "nl2bash",
    metric,
    score: (straight + swapped) / 2,
    verdicts: [straight, swapped],
    unread: 0,
    cpu_s: 20,
  },
  ...more,
});

test("agreement counts pairs that the metric tells apart, a tie as half; unread orders give no verdict", () => {
  const pairs = [
    pair(1, 2, 1),
    pair(-1, -2, -1),
    pair(1, -1, -1),
    // The judge prefers a position: no preference.
    pair(1, 3, -3),
    pair(0, 2, 2),
    pair(1, 2, 0, { score: null, verdicts: [2], unread: 1, domain: "gsm8k" }),
  ];
  const { all, gsm8k } = judgeFigures(pairs, 20) as Record<string, Record<string, unknown>>;
  expect(all).toMatchObject({
    ...{ n: 6, judged: 5, differ: 4, agrees: { share: 0.625 }, ties: 0.2, same_position: 0.2, cpu_s: 20 },
    small_wins: { metric: 0.7, judge: 0.5 },
    unread: 0.08333,
  });
  expect(gsm8k).toMatchObject({ n: 1, judged: 0, differ: 0, agrees: null, ties: null });
});
