import { afterAll, expect, it, vi } from "vitest";
import { timeOf, timeOfId } from "./foreign.ts";

afterAll(() => void vi.unstubAllEnvs());

it("parses a time independently of this machine's time zone", () => {
  const at = Date.UTC(2026, 2, 29, 0, 30);
  for (const zone of ["UTC", "Europe/Berlin", "America/New_York"]) {
    vi.stubEnv("TZ", zone);
    for (const reported of [
      "2026-03-29T00:30:00Z",
      "2026-03-29 01:30:00+0100",
      "2026-03-29T02:30+02:00",
      "2026-03-29 00:30:00.000000",
      "2026-03-29 00:30:00.000+00",
      "2026-03-29 00:30:00 UTC",
    ])
      expect([zone, reported, timeOf(reported)]).toEqual([zone, reported, at]);
    // 02:30 on this day is no time in Berlin, and twice one in autumn.
    expect(timeOf("2026-03-29 02:30:00") - timeOf("2026-03-29 01:30:00")).toBe(3_600_000);
    expect(timeOf("2026-10-25 03:30:00") - timeOf("2026-10-25 01:30:00")).toBe(7_200_000);
    expect(timeOf("2026-04-01") - timeOf("2026-03-31")).toBe(86_400_000);
  }
  for (const reported of [at / 1_000, at, at * 1_000, String(at), String(at / 1_000)])
    expect(timeOf(reported)).toBe(at);
  expect(timeOf(`${at}123456`)).toBe(at);
  for (const reported of ["yesterday", "", null, {}, [], Number.NaN, "2026-03-29T25:61:00Z"])
    expect(timeOf(reported)).toBeNaN();
});

it("finds the time in a UUID of version 7 alone", () => {
  expect(timeOfId("019562dc-d5b0-7e43-800d-3a5d37ec37a3")).toBe(0x019562dcd5b0);
  expect(timeOfId("019562dc-d5b0-4e43-800d-3a5d37ec37a3")).toBeNull();
});
