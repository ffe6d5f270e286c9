import { describe, expect, it } from "vitest";
import { UsageError } from "./io.ts";
import { withdrawalRecord, type WithdrawInput } from "./feedback-withdraw.ts";

const of = (input: WithdrawInput) => withdrawalRecord(input, "w", 5);

describe("a withdrawal on the command line", () => {
  it("means any of what it does not name", () => {
    expect(of({ source: "person" })).toEqual({
      ...{ id: "w", tenant: null, source: "person", author: null, since: null, until: null },
      ...{ restores: null, comment: null, createdAt: 5 },
    });
    expect(of({ author: "", tenant: "acme", comment: "why" })).toMatchObject({
      author: "",
      tenant: "acme",
      comment: "why",
    });
  });

  it.each([
    ["2026-03-01", Date.UTC(2026, 2, 1)],
    ["2026-03-01 12:30", Date.UTC(2026, 2, 1, 12, 30)],
    ["2026-03-01T12:30:00", Date.UTC(2026, 2, 1, 12, 30)],
    ["2026-03-01T12:30:00+02:00", Date.UTC(2026, 2, 1, 10, 30)],
    ["2026-03-01T12:30:00.250Z", Date.UTC(2026, 2, 1, 12, 30, 0, 250)],
  ])("takes the time %s as UTC unless it says otherwise", (from, since) => {
    expect(of({ from })).toMatchObject({ since, until: null });
  });

  it.each<[string, WithdrawInput]>([
    ["whose", {}],
    ["whose", { tenant: "acme" }],
    ["--source bob", { source: "bob" }],
    ["--from yesterday", { from: "yesterday" }],
    ["--to 2026-01-01", { from: "2026-01-02", to: "2026-01-01" }],
    ["tenant has 300 bytes", { source: "judge", tenant: "x".repeat(300) }],
  ])("refuses what makes no sense: %s", (message, input) => {
    expect(() => of(input)).toThrow(UsageError);
    expect(() => of(input)).toThrow(message);
  });
});
