import { expect, test } from "vitest";
import { anExample } from "./examples.testing.ts";
import { createNearest } from "./nearest.ts";

const domain = "acme/default";
/** Key i has the cosine 1 - i / 100 with the query; the index is off by up to 10 places. */
const vectorOf = (key: number): Float32Array => Float32Array.of(1 - key / 100, Math.sqrt(1 - (1 - key / 100) ** 2));
const query = Float32Array.of(1, 0);
const misplaced = Array.from({ length: 100 }, (_, key) => ({ key, at: key + ((key * 7) % 10) })).sort(
  (a, b) => a.at - b.at,
);

function setUp(expired: (key: number) => boolean = () => false) {
  const asked: number[] = [];
  const texts: number[] = [];
  const nearest = createNearest({
    ledger: { numberOfDomain: (name) => (name === domain ? 3 : undefined) },
    search: (_domain, _query, k) => {
      asked.push(k);
      return Promise.resolve(misplaced.slice(0, k).map(({ key }) => ({ key, similarity: 0 })));
    },
    read: {
      similarity: (_domain, key) => (expired(key) ? undefined : vectorOf(key)[0]),
      example(_domain, key) {
        texts.push(key);
        const example = anExample({ id: `${key}` });
        return { example, vector: vectorOf(key), traits: null, expiresAt: Infinity };
      },
    },
  });
  return { nearest, asked, texts };
}

test("the true nearest are found among the index's, nearest first, and only their texts are read", async () => {
  const { nearest, asked, texts } = setUp();
  const found = await nearest(domain, query, 8, 0);
  expect(found.map(({ example }) => example.id)).toEqual(["0", "1", "2", "3", "4", "5", "6", "7"]);
  expect(found[1]!.similarity).toBeCloseTo(0.99, 6);
  expect([asked, texts]).toEqual([[18], [0, 1, 2, 3, 4, 5, 6, 7]]);
});

test("expired ones are passed over, and the index is asked for more", async () => {
  const { nearest, asked } = setUp((key) => key < 50);
  expect((await nearest(domain, query, 2, 0)).map(({ example }) => example.id)).toEqual(["50", "51"]);
  expect(asked).toEqual([10, 20, 40, 80]);
});

test("a domain without examples is not searched", async () => {
  const { nearest, asked } = setUp();
  expect([await nearest("beta/default", query, 5, 0), await nearest(domain, query, 0, 0), asked]).toEqual([[], [], []]);
});
