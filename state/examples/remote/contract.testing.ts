// What every source of examples does, whether they lie in this process or in Milvus.
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { dot } from "../../../algorithms/selection/embedding.ts";
import { sharingDomain } from "../../../algorithms/identity/identity.ts";
import type { Example } from "../../../schemas/types.ts";
import { axis, anExample } from "../examples.testing.ts";
import type { ExampleChange, ExampleSearch } from "../port.ts";

export interface Source {
  search: Pick<ExampleSearch, "nearest">;
  /** Records of a partition of the topic; awaited, searches see them. */
  apply(partition: number, changes: readonly ExampleChange[]): Promise<void>;
}

const now = 1_700_000_000_000;
const unit = (numbers: readonly number[]): Float32Array => {
  const length = Math.hypot(...numbers) || 1;
  return numbers.some((one) => one !== 0) ? Float32Array.from(numbers, (one) => one / length) : axis(0);
};
const put = (example: Example): ExampleChange => ({ id: example.id, domain: example.domain, value: example });
const gone = ({ id, domain }: Example): ExampleChange => ({ id, domain, value: null });

/** start: an empty source for vectors of 4 numbers by the model "test", each time another. */
export function describeExamples(name: string, start: () => Promise<Source>, runs: number): void {
  describe(`examples: ${name}`, { timeout: 120_000 }, () => {
    let source: Source;
    beforeAll(async () => {
      source = await start();
    }, 60_000);
    const ids = async (domain: string, vector: Float32Array, k = 10, at = now): Promise<string[]> =>
      (await source.search.nearest(domain, vector, k, at)).map(({ example }) => example.id);
    test("the nearest of a domain with the cosine, texts and all; replaced, expired and removed", async () => {
      const near = anExample({ tenant: "t1", request: "near", vector: unit([1, 1, 0, 0]) });
      const far = anExample({ tenant: "t1", request: "far", vector: axis(2), expiresAt: now + 10 });
      await source.apply(0, [put(near), put(far)]);
      const found = await source.search.nearest(near.domain, axis(0), 10, now);
      expect(found.map(({ example }) => example)).toEqual(
        [near, far].map(({ embedding: _, embeddingModel: __, ...example }) => example),
      );
      expect(found[0]?.similarity).toBeCloseTo(Math.SQRT1_2, 3);
      expect(found[0]?.vector).toHaveLength(4);
      expect(await ids(near.domain, axis(0), 1)).toEqual([near.id]);
      expect(await ids(near.domain, axis(0), 10, now + 10)).toEqual([near.id]);

      await source.apply(0, [put({ ...near, quality: 0.25 })]);
      const [again] = await source.search.nearest(near.domain, axis(0), 1, now);
      expect(again?.example.quality).toBe(0.25);
      await source.apply(0, [gone(near), gone(near)]);
      expect(await ids(near.domain, axis(0))).toEqual([far.id]);
      await source.apply(0, [put(near), gone(far)]);
      expect(await ids(near.domain, axis(0))).toEqual([near.id]);
      expect(await ids("nobody/default", axis(0))).toEqual([]);
      expect(await ids(near.domain, axis(0), 0)).toEqual([]);
    });

    test("what can't be an example leaves, and takes the row before it along", async () => {
      const good = anExample({ tenant: "t2" });
      await source.apply(0, [put(good)]);
      await source.apply(0, [put({ ...good, embedding: Buffer.alloc(16, 0xff) })]);
      expect(await ids(good.domain, axis(0))).toEqual([]);
      await source.apply(0, [put({ ...good, tenant: "another" })]);
      expect(await ids(good.domain, axis(0))).toEqual([]);
    });

    test("an example that two partitions brought is one, and leaves with the last of them", async () => {
      const twice = anExample({ tenant: "t3" });
      await source.apply(0, [put(twice)]);
      await source.apply(1, [put(twice)]);
      expect(await ids(twice.domain, axis(0))).toEqual([twice.id]);
      await source.apply(1, [gone(twice)]);
      expect(await ids(twice.domain, axis(0))).toEqual([twice.id]);
      await source.apply(0, [gone(twice)]);
      expect(await ids(twice.domain, axis(0))).toEqual([]);
    });

    test("no search gives another domain's example, whatever its tenants are called", async () => {
      const hostile = [
        'a" || group != "',
        "a'",
        "a\\",
        "{a}",
        "a] or key in [",
        "%",
        "+",
        "a/b",
        "日本",
        "\u0000",
        " ",
      ];
      const tenant = fc.oneof(fc.constantFrom(...hostile), fc.string({ minLength: 1, maxLength: 12, unit: "binary" }));
      const vector = fc.array(fc.integer({ min: -3, max: 3 }), { minLength: 4, maxLength: 4 }).map(unit);
      const one = fc.record({ tenant, domain: fc.option(tenant), vector, text: fc.string({ minLength: 1 }) });
      await fc.assert(
        fc.asyncProperty(fc.array(one, { minLength: 1, maxLength: 12 }), vector, async (all, query) => {
          const examples = all.map((given) =>
            anExample({
              ...{ tenant: given.tenant, domain: sharingDomain(given.tenant, given.domain), vector: given.vector },
              request: given.text,
            }),
          );
          const held = new Map(examples.map((example) => [`${example.domain}/${example.id}`, example]));
          await source.apply(0, [...held.values()].map(put));
          for (const domain of new Set(examples.map((example) => example.domain))) {
            const found = await source.search.nearest(domain, query, 100, now);
            const own = [...held.values()].filter((example) => example.domain === domain);
            expect(found.map(({ example }) => example.id).sort()).toEqual(own.map(({ id }) => id).sort());
            expect(found.every(({ example }) => example.domain === domain)).toBe(true);
            const ranked = found.map(({ similarity }) => similarity);
            expect(ranked).toEqual([...ranked].sort((a, b) => b - a));
            for (const { example, similarity } of found) {
              const { embedding } = held.get(`${domain}/${example.id}`)!;
              const stored = new Float32Array(Uint8Array.from(embedding).buffer);
              expect(similarity).toBeCloseTo(dot(query, stored), 2);
            }
          }
          await source.apply(0, [...held.values()].map(gone));
          for (const { domain } of examples) expect(await ids(domain, query, 100)).toEqual([]);
        }),
        { numRuns: runs },
      );
    });
  });
}
