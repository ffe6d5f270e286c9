import { expect, it } from "vitest";
import { embeddingToBytes } from "../../algorithms/selection/embedding.ts";
import { plainExample } from "../../schemas/example.testing.ts";
import type { HeldExample } from "../../state/examples/port.ts";
import { createCount } from "./count.ts";

const row = (id: string, uses: number, published = 0) => ({
  ...{ id, uses, published, vector: [1, 0], embeddingModel: "m" },
});
function setUp(rows: object[], held: Partial<HeldExample>[]) {
  const pool = new Map(held.map((one) => [one.id ?? "", plainExample(one) as HeldExample]));
  let opened = 0;
  const count = createCount({
    clickhouse: { query: async <T>() => rows as T[] },
    examples: () => Promise.resolve({ pool: { get: (id: string) => (opened++, pool.get(id)) } }),
  });
  return { count, opened: () => opened };
}

it("publishes the whole example with its step, as it is held now", async () => {
  const { count } = setUp([row("a", 9)], [{ id: "a", quality: 0.7 }]);
  const embedding = embeddingToBytes(Float32Array.of(1, 0));
  const value = plainExample({ id: "a", quality: 0.7, shown: 8, embedding, embeddingModel: "m" });
  expect(await count()).toEqual([{ id: "a", domain: "acme/default", value }]);
});

it("brings nothing back that has left, and publishes no step twice", async () => {
  const { count } = setUp(
    [row("gone", 9), row("fresh", 9), row("falls", 3, 8), row("stays", 4, 8)],
    [
      { id: "fresh", shown: 8 },
      { id: "falls", shown: 8 },
      { id: "stays", shown: 8 },
    ],
  );
  expect((await count()).map(({ id, value }) => [id, value?.shown])).toEqual([["falls", 2]]);
});

it("opens no pool while no count has changed", async () => {
  const { count, opened } = setUp([], []);
  expect([await count(), opened()]).toEqual([[], 0]);
});
