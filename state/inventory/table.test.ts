import { expect, it } from "vitest";
import { createBloom } from "../../algorithms/numeric/bloom.ts";
import { cacheName } from "../../algorithms/identity/identity.ts";
import type { KvInventory } from "../../schemas/types.ts";
import { createInventoryTable, exampleHash, voidMs } from "./table.ts";

const inventory = (arm: string, ids: readonly string[], createdAt = 1_000): KvInventory => {
  const { bits, hashes } = createBloom(new Set(ids.map((id) => cacheName("example", id))));
  return {
    ...{ arm, tenant: "default", instance: "i", bloom: Buffer.from(bits), hashes },
    ...{ chunks: ids.length, bytes: 1, createdAt },
  };
};

it("unites the processes of an arm, and keeps arms apart", () => {
  const table = createInventoryTable(() => 1_000);
  table.apply("small/1", inventory("small", ["a"]));
  table.apply("small/2", inventory("small", ["b"]));
  table.apply("large/1", inventory("large", []));
  const has = (arm: string) => ["a", "b", "c"].filter((id) => table.has(arm, exampleHash(id)));
  expect([has("small"), has("large"), has("other")]).toEqual([["a", "b"], [], []]);
  expect(["small", "large", "other"].map(table.tells)).toEqual([true, true, false]);
  table.apply("small/1", inventory("small", ["c"]));
  expect(has("small")).toEqual(["b", "c"]);
  table.remove("small/2");
  expect(has("small")).toEqual(["c"]);
  table.remove("small/1");
  expect(table.tells("small")).toBe(false);
});

it("ignores what is not renewed, even when its clock is ahead", () => {
  let now = 1_000;
  const table = createInventoryTable(() => now);
  table.apply("small/1", inventory("small", ["a"], now + 10 * voidMs));
  now += voidMs - 1;
  expect(table.has("small", exampleHash("a"))).toBe(true);
  now += 1;
  expect(table.has("small", exampleHash("a"))).toBe(false);
  table.apply("small/1", inventory("small", ["a"], now));
  expect(table.has("small", exampleHash("a"))).toBe(true);
});
