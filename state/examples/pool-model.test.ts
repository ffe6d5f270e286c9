// Whatever is done in whatever order, by several tenants, with ends and kills in between: the pool
// is what a simple model of it says, and a search never sees an example of another domain.
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import type { Example } from "../../schemas/types.ts";
import { anExample, axis } from "./examples.testing.ts";
import { cleanUp, copyAsKilled, testFolder, testPool } from "./pool.testing.ts";
import type { ExamplePool } from "./port.ts";

afterAll(cleanUp);

const domains = ["acme/default", "acme/sql", "umbrella/default", "umbrella/sql"];
const partitions = [0, 1, 2];

interface Held {
  example: Example;
  holders: Set<number>;
  ahead: boolean;
}

/** What a pool is, without indexes, files or transactions. */
function createModel() {
  const held = new Map<string, Held>();
  const positions = new Map<number, bigint>();
  const settle = (id: string, one: Held): void => {
    if (one.holders.size === 0 && !one.ahead) held.delete(id);
  };
  const hold = (example: Example, by: number | null): boolean => {
    const known = held.get(example.id);
    if (known !== undefined && known.example.domain !== example.domain) return false;
    const one = known ?? { example, holders: new Set(), ahead: false };
    one.example = example;
    one.ahead = by === null;
    if (by !== null) one.holders.add(by);
    held.set(example.id, one);
    return true;
  };
  return {
    held,
    positions,
    hold,
    letGo(partition: number, id: string, domain: string): void {
      const one = held.get(id);
      if (one?.example.domain !== domain) return;
      one.holders.delete(partition);
      one.ahead = false;
      settle(id, one);
    },
    release(partition: number): void {
      if (!positions.delete(partition)) return;
      for (const [id, one] of held) {
        one.holders.delete(partition);
        settle(id, one);
      }
    },
    restart(): void {
      for (const [id, one] of held) {
        one.ahead = false;
        settle(id, one);
      }
    },
  };
}

const id = fc.integer({ min: 0, max: 12 }).map((number) => `e${number}`);
const example = fc
  .record({
    id,
    domain: fc.constantFrom(...domains),
    along: fc.integer({ min: 0, max: 3 }),
    expiresAt: fc.option(fc.integer({ min: 1, max: 100 })),
    request: fc.string({ maxLength: 5 }),
  })
  .map(({ along, domain, ...rest }) =>
    anExample({ ...rest, domain, tenant: domain.split("/")[0] ?? "", vector: axis(along) }),
  );
const partition = fc.constantFrom(...partitions);
const change = fc.tuple(example, fc.boolean());
const step = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constant("apply" as const), partition, fc.array(change, { maxLength: 8 })) },
  { weight: 2, arbitrary: fc.tuple(fc.constant("upsert" as const), fc.array(example, { maxLength: 3 })) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("remove" as const), fc.array(id, { maxLength: 3 })) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("release" as const), partition) },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom("end" as const, "kill" as const)) },
);
const query = fc.record({
  along: fc.integer({ min: 0, max: 3 }),
  now: fc.integer({ max: 101, min: 0 }),
  k: fc.integer({ min: 1, max: 14 }),
});

async function check(
  pool: ExamplePool,
  model: ReturnType<typeof createModel>,
  { along, now, k }: { along: number; now: number; k: number },
) {
  expect(pool.size()).toBe(model.held.size);
  for (const one of partitions) expect(pool.position(one)).toBe(model.positions.get(one) ?? null);
  for (const domain of domains) {
    const visible = [...model.held.values()]
      .map((one) => one.example)
      .filter((one) => one.domain === domain && (one.expiresAt === null || one.expiresAt > now));
    const found = await pool.nearest(domain, axis(along), k, now);
    expect(found.length).toBe(Math.min(k, visible.length));
    for (const { example: got } of found) {
      const { embedding: _, embeddingModel: __, ...expected } = visible.find((one) => one.id === got.id) ?? anExample();
      expect(got).toEqual(expected);
    }
    const alike = visible.filter((one) => one.embedding.equals(anExample({ vector: axis(along) }).embedding));
    expect(found.filter(({ similarity }) => similarity === 1).length).toBe(Math.min(k, alike.length));
    expect(found.map(({ similarity }) => similarity)).toEqual(
      found.map(({ similarity }) => similarity).sort((one, other) => other - one),
    );
  }
}

test("a pool is what the model says", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 20 }),
      fc.array(query, { minLength: 3, maxLength: 3 }),
      async (steps, queries) => {
        let folder = await testFolder();
        const options = { save: { everyMs: 3, examples: 1, changes: 2 } };
        let pool = await testPool({ folder, ...options });
        const model = createModel();
        let offset = 0n;
        for (const [i, given] of steps.entries()) {
          if (given[0] === "apply") {
            offset += BigInt(given[2].length);
            const changes = given[2].map(([value, isGone]) => ({
              id: value.id,
              domain: value.domain,
              value: isGone ? null : value,
            }));
            const expected = given[2].filter(([value, isGone]) => {
              if (isGone) model.letGo(given[1], value.id, value.domain);
              return !isGone && !model.hold(value, given[1]);
            });
            expect((await pool.apply(given[1], changes, offset)).map((one) => one.id)).toEqual(
              expected.map(([value]) => value.id),
            );
            model.positions.set(given[1], offset);
          } else if (given[0] === "upsert") {
            const expected = given[1].filter((value) => !model.hold(value, null));
            expect((await pool.upsert(given[1])).length).toBe(expected.length);
          } else if (given[0] === "remove") {
            await pool.remove(given[1]);
            for (const one of given[1]) model.held.delete(one);
          } else if (given[0] === "release") {
            await pool.release(given[1]);
            model.release(given[1]);
          } else {
            const left = given[0] === "kill" ? await copyAsKilled(folder) : folder;
            await pool.close();
            folder = left;
            pool = await testPool({ folder, ...options });
            model.restart();
          }
          await check(pool, model, queries[i % queries.length]!);
        }
        expect(pool.figures().damaged).toBe(0);
        await cleanUp();
      },
    ),
    { numRuns: 25 },
  );
}, 240_000);
