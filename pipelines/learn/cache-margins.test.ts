import { expect, it } from "vitest";
import { voidMs } from "../../state/inventory/table.ts";
import { createMarginTable } from "./cache-margins.ts";

const one = { arm: "small", gainTokens: 10, lossTokens: 4, measuredMs: 500, createdAt: 0 };
const window = { windowMs: 1_000, leastMs: 500 };

it("sums the processes of an arm, for the whole window", () => {
  const table = createMarginTable(() => 0);
  table.apply("small/a", one);
  table.apply("small/b", { ...one, gainTokens: 1, lossTokens: 0, measuredMs: 1_000 });
  table.apply("large/a", { ...one, arm: "large" });
  expect(Object.fromEntries(table.of(window))).toEqual({
    small: { gainTokens: 21, lossTokens: 8 },
    large: { gainTokens: 20, lossTokens: 8 },
  });
  table.remove("small/a");
  expect(table.of(window).get("small")).toEqual({ gainTokens: 1, lossTokens: 0 });
});

it("knows nothing of an arm of which a process has counted too little, or nothing", () => {
  const table = createMarginTable(() => 0);
  table.apply("small/a", one);
  table.apply("small/b", { ...one, measuredMs: 499 });
  table.apply("large/a", { ...one, arm: "large", measuredMs: 0 });
  expect(table.of(window).size).toBe(0);
  expect(table.of({ ...window, leastMs: 0 }).has("large")).toBe(false);
});

it("forgets who does not renew what it said", () => {
  let now = 0;
  const table = createMarginTable(() => now);
  table.apply("small/a", { ...one, createdAt: 1_000_000 }); // a clock that is ahead
  now = voidMs - 1;
  expect(table.of(window).size).toBe(1);
  now = voidMs;
  expect(table.of(window).size).toBe(0);
});
