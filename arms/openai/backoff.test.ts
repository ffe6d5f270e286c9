import { describe, expect, it } from "vitest";
import { backoffMs, retryAfterMs } from "./backoff.ts";

describe("backoffMs", () => {
  it("doubles, takes up to a half away at random, and is bounded", () => {
    expect([2, 3, 4].map((attempt) => backoffMs(attempt, 0))).toEqual([500, 1000, 2000]);
    expect(backoffMs(2, 0.999)).toBeGreaterThan(250);
    expect(backoffMs(100, 0)).toBe(30_000);
  });
});

describe("retryAfterMs", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  it.each([
    ["2", 2000],
    ["0.5", 500],
    ["30s", 30_000],
    ["5 seconds", 5_000],
    ["30, 30", 30_000],
    ["60;w=1", 60_000],
    ["1m30.5s", 90_500],
    ["250ms", 250],
    ["1767225607", 7_000],
    ["1767225607500", 7_500],
    ["1767225000", 0],
    ["2026-01-01T00:00:07Z", 7_000],
    ["5 apples", null],
    ["Thu, 01 Jan 2026 00:00:07 GMT", 7000],
    ["Wed, 31 Dec 2025 23:59:59 GMT", 0],
    ["-3", null],
    ["soon", null],
    ["", null],
    [null, null],
    [undefined, null],
  ])("reads %j as %j", (header, expected) => {
    expect(retryAfterMs(header, now)).toBe(expected);
  });
});
