import { describe, expect, test } from "vitest";
import { createOffPeakWindow, dueBy } from "./off-peak-window.ts";

describe("the window", () => {
  test("grows to its bound while there is room", () => {
    const window = createOffPeakWindow({ limit: 0.5, most: 64 });
    expect(window.size()).toBe(8);
    for (let look = 0; look < 20; look++) window.observe(0.5, 100);
    expect(window.size()).toBe(64);
  });
  test("is closed while the arms are busy, and half as large afterwards for each such look", () => {
    const window = createOffPeakWindow({ limit: 0.5, most: 64, first: 40 });
    window.observe(0.51, 9);
    expect(window.size()).toBe(0);
    window.observe(3, 9);
    expect(window.size()).toBe(0);
    window.observe(0, 9);
    expect(window.size()).toBe(12);
  });
  test("does not grow by more than was finished", () => {
    const window = createOffPeakWindow({ limit: 0.5, most: 64, first: 40 });
    window.observe(0, 0);
    expect(window.size()).toBe(40);
    window.observe(0, 3);
    expect(window.size()).toBe(43);
  });
  test("opens again however long it was closed", () => {
    const window = createOffPeakWindow({ limit: 0, most: 4 });
    for (let look = 0; look < 100; look++) window.observe(1, 0);
    window.observe(0, 1);
    expect(window.size()).toBe(2);
  });
  test("its first size is within its bound", () => {
    expect(createOffPeakWindow({ limit: 1, most: 2 }).size()).toBe(2);
  });
});

describe("what is due", () => {
  const batch = { from: 1_000, until: 2_000, total: 10 };
  test.each([
    [0, 0],
    [1_000, 0],
    [1_500, 0],
    [1_501, 1],
    [1_700, 5],
    [1_900, 10],
    [5_000, 10],
  ])("at %d: %d of 10", (now, due) => {
    expect(dueBy(now, batch)).toBe(due);
  });
  test("all of what has no time", () => {
    expect(dueBy(1_000, { from: 1_000, until: 1_000, total: 3 })).toBe(0);
    expect(dueBy(1_001, { from: 1_000, until: 1_000, total: 3 })).toBe(3);
  });
});
