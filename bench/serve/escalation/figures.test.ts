import { expect, test } from "vitest";
import { splitmix64 } from "../../../algorithms/numeric/random.ts";
import { type Escalated, escalationFigures } from "./figures.ts";

/** Half of the small model's answers are right; `shows`: whether its confidence tells which. */
function requests(shows: boolean): Escalated[] {
  const random = splitmix64(1);
  return Array.from({ length: 400 }, (_, i): Escalated => {
    const isRight = random() < 0.5;
    const logprob = (shows ? Number(isRight) : random()) - 1;
    return {
      domain: i % 2 === 0 ? "nl2bash" : "gsm8k",
      before: [i % 2, random()],
      score: [Number(isRight), Number(isRight), 1],
      cpu: [1, 1, 4],
      after: [{ logprob }, { logprob }],
    };
  });
}
interface Shown {
  auc: Record<string, { both: Record<string, number> }>;
  worth: Record<string, Record<string, number>>;
  weights_gained: number;
}

test("where confidence tells right from wrong, escalating is worth its price", () => {
  const { auc, worth, weights_gained: gained } = escalationFigures(requests(true), 200) as unknown as Shown;
  expect(auc["small-with"]!.both["logprob"]).toBe(1);
  // Half of the requests pay 1, the others 1 and 4.
  expect(worth["0.3"]!["small-with_first"]).toBeCloseTo(1 - (0.3 * 3) / 4, 1);
  expect(worth["0.3"]!["large-without"]).toBeCloseTo(1 - 0.3, 9);
  expect(worth["0.7"]!["gain_low"]).toBeGreaterThan(0);
  expect(gained).toBeGreaterThan(1);
});

test("where it tells nothing, nothing is gained", () => {
  const { auc, worth, weights_gained: gained } = escalationFigures(requests(false), 200) as unknown as Shown;
  expect(Math.abs(auc["small-with"]!.both["logprob"]! - 0.5)).toBeLessThan(0.1);
  expect(worth["0.7"]!["gain"]).toBeLessThan(0.02);
  expect(gained).toBe(0);
});
