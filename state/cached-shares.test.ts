import { expect, it } from "vitest";
import { NO_USAGE } from "../schemas/no-usage.ts";
import { createCachedShares } from "./cached-shares.ts";

function shares() {
  let now = 0;
  const all = createCachedShares(() => now);
  let id = 0;
  return {
    ...all,
    expected: (arm: string, conversation: string, characters: number, domain = "t/d") =>
      all.expected(arm, { domain, conversation, characters }),
    wait: (ms: number) => (now += ms),
    turn(arm: string, conversation: string, characters: number, cached: number | null, by = arm, domain = "t/d") {
      const requestId = `r${id++}`;
      all.chosen(arm, { domain, conversation, characters, tenant: "t", requestId });
      if (cached !== null) all.answered(by, { tenant: "t", requestId }, { ...NO_USAGE, prompt: 100, cached });
    },
  };
}

it("expects nothing of an arm that has reported nothing, but for a conversation that it answered", () => {
  const { expected, turn } = shares();
  expect(expected("a", "c", 1_000)).toBe(0);
  turn("a", "c", 800, null);
  expect(expected("a", "c", 1_000)).toBeCloseTo(0.4, 12);
  expect(expected("b", "c", 1_000)).toBe(0);
  expect(expected("a", "other", 1_000)).toBe(0);
});

it("learns what each arm had of first and of later prompts", () => {
  const { expected, turn } = shares();
  for (let n = 0; n < 200; n++) {
    turn("a", `a${n}`, 100, 30);
    turn("a", `a${n}`, 200, 45);
    turn("b", `b${n}`, 100, 0);
    turn("b", `b${n}`, 200, 0);
  }
  expect(expected("a", "new", 500)).toBeCloseTo(0.3, 2);
  expect(expected("a", "a199", 250)).toBeCloseTo((0.9 * 200) / 250, 2);
  expect(expected("b", "b199", 200)).toBeLessThan(0.01);
});

it("learns it for each sharing domain; one without reports of its own expects what the arm has on average", () => {
  const { expected, turn } = shares();
  for (let n = 0; n < 60; n++) {
    turn("a", `x${n}`, 100, 90, "a", "x/d");
    turn("a", `y${n}`, 100, 0, "a", "y/d");
  }
  expect(expected("a", "new", 100, "x/d")).toBeCloseTo(0.9, 1);
  expect(expected("a", "new", 100, "y/d")).toBeCloseTo(0, 1);
  expect(expected("a", "new", 100, "z/d")).toBeCloseTo(0.45, 1);
  // Its own first reports weigh more than those of all others.
  for (let n = 0; n < 6; n++) turn("a", `z${n}`, 100, 0, "a", "z/d");
  expect(expected("a", "new", 100, "z/d")).toBeLessThan(0.2);
  expect(expected("b", "new", 100, "x/d")).toBe(0);
  // Those not reported for the longest time go.
  for (let n = 0; n < 10_000; n++) turn("b", `b${n}`, 100, 50, "b", `d${n}`);
  turn("a", "n", 100, 90, "a", "n/d");
  expect(expected("a", "new", 100, "x/d")).toBe(expected("a", "new", 100, "never seen"));
});

it("forgets a conversation after five minutes, and one whose prompt is another", () => {
  const { expected, turn, wait } = shares();
  turn("a", "c", 800, null);
  expect(expected("a", "c", 700)).toBe(0);
  wait(299_999);
  expect(expected("a", "c", 800)).toBe(0.5);
  wait(1);
  expect(expected("a", "c", 800)).toBe(0);
});

it("follows the arm that answered where another was chosen", () => {
  const { expected, turn } = shares();
  turn("a", "c", 800, 0, "b");
  expect(expected("a", "c", 800)).toBe(0);
  expect(expected("b", "c", 800)).toBe(0.5);
});

it("takes odd reports for what they can be, and holds 50,000 conversations", () => {
  const { expected, turn, answered } = shares();
  answered("a", { requestId: "never asked" }, { ...NO_USAGE, prompt: 10, cached: 10 });
  for (const cached of [-5, 1_000, NaN]) turn("a", "x", 10, Number.isNaN(cached) ? 0 : cached);
  expect(expected("a", "y", 10)).toBeLessThanOrEqual(1);
  turn("a", "first", 800, null);
  for (let n = 0; n < 50_000; n++) turn("b", `c${n}`, 1, null);
  expect(expected("a", "first", 800)).toBeLessThan(0.1);
});
