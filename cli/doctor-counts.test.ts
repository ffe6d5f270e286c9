import { expect, it } from "vitest";
import { clockSkew, counted } from "./doctor-counts.ts";

it("names what is missing beside what is there", () => {
  const wanted = ["a", "b", "c", "d", "e"];
  expect(counted(wanted, new Set(wanted), "topics")).toEqual({ state: "fine", detail: "5 topics" });
  expect(counted(wanted, new Set(["a", "b", "c", "e"]), "topics")).toMatchObject({
    ...{ state: "waiting", detail: "4 of 5 topics, without d", remedy: "precedent up makes it" },
  });
  expect(counted(wanted, new Set(["x", "e"]), "topics").detail).toBe("1 of 5 topics, without a, b, c, ...");
  expect(counted(wanted, new Set(["x"]), "topics").detail).toBe("0 of 5 topics");
});

it("finds a clock beyond 5 s of ours, the time of the query aside", () => {
  const query = { began: 100_000, ended: 108_000 };
  for (const theirs of [95_000, 100_000, 104_000, 108_000, 113_000, NaN]) expect(clockSkew(theirs, query)).toEqual({});
  expect(clockSkew(93_000, query)).toMatchObject({
    state: "lacking",
    detail: expect.stringMatching(/^its clock is 7 s behind/),
  });
  expect(clockSkew(120_000, query)).toMatchObject({
    detail: expect.stringMatching(/^its clock is 12 s ahead of/),
    remedy: expect.stringMatching(/NTP/),
  });
});
