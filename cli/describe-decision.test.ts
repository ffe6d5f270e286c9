import { expect, it } from "vitest";
import { describeDraws } from "./describe-answer.ts";
import { describeReuse } from "./describe-decision.ts";

type Decision = Parameters<typeof describeReuse>[0];
const decision = {} as Decision;
const arm = { name: "reuse", minimumSimilarity: 0.8, minimumQuality: 0.85 };
const found = { reuseArm: "reuse", reuseExample: "e1", reuseSimilarity: 0.953, reuseQuality: 0.9, reuseBound: 0.2 };

it("says why an arm that reuses answers did not answer", () => {
  expect(describeReuse(decision)).toEqual([]);
  expect(describeReuse(decision, arm)[0]).toMatch(/no past answer .* at least 0\.8, right with at least 0\.85/);
  expect(describeReuse({ ...decision, ...found, reuseState: "off" }, arm)[0]).toMatch(
    /similarity 0\.953, right with 0\.90 .* at most 0\.200 are wrong: above the arm's limit, so it is off/,
  );
  expect(describeReuse({ ...decision, ...found, reuseState: "held_back" }, arm)[0]).toMatch(/held back, to verify/);
  expect(describeReuse({ ...decision, ...found, reuseQuality: 0.81, reuseState: "near_miss" }, arm)[0]).toMatch(
    /no past answer was near and good enough; the best, .* similarity 0\.953, right with 0\.81 .*needs 0\.8 and 0\.85/,
  );
});

it("says that a sampled quality may pass 0 and 1 where one does", () => {
  expect(describeDraws([{ sampled: 0.4 }, { sampled: 1 }])).toEqual([]);
  for (const sampled of [1.17, -0.2]) expect(describeDraws([{ sampled }])[0]).toContain("it may pass 0 and 1");
});
