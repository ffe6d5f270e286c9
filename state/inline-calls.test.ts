import { expect, it } from "vitest";
import type { InlineCalls } from "../schemas/types.ts";
import { createCallTable, voidMs } from "./inline-calls.ts";

const row = (arm: string, instance: string, calls: number, createdAt = 1_000): InlineCalls => ({
  ...{ arm, instance, calls, createdAt, tenant: "default" },
});

it("adds up the calls of the other processes at an arm", () => {
  const table = createCallTable(() => 1_000);
  const rows = [row("large", "a", 3), row("large", "b", 4), row("small", "b", 50), row("large", "me", 7)];
  for (const one of rows) table.apply(`${one.arm}/${one.instance}`, one);
  expect(table.others("large", "me")).toBe(7);
  table.apply("large/a", row("large", "a", 1));
  table.remove("large/b");
  expect(table.others("large", "me")).toBe(1);
  expect(table.others("none", "me")).toBe(0);
});

it("a process that says nothing any more does not count, whatever its clock said", () => {
  let now = 1_000;
  const table = createCallTable(() => now);
  table.apply("large/a", row("large", "a", 3));
  table.apply("large/ahead", row("large", "ahead", 5, 1e15));
  now += voidMs - 1;
  expect(table.others("large", "me")).toBe(8);
  now += 1;
  expect(table.others("large", "me")).toBe(0);
});
