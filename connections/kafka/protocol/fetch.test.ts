// Our Fetch beside kafkajs' own: the same bytes for whatever a consumer may ask.
import fc from "fast-check";
import { expect, test } from "vitest";
import { internals } from "../kafkajs-internals.ts";
import { encodeFetch, type FetchBody } from "./fetch.ts";

interface Built {
  request: { encode(): Promise<{ buffer: Buffer }> };
}
const kafkajs = (body: FetchBody) =>
  (internals.requests<FetchBody>("fetch").protocol({ version: 11 })(body) as Built).request
    .encode()
    .then(({ buffer }) => buffer);

const partition = fc.record({
  partition: fc.nat(1_000),
  fetchOffset: fc
    .oneof(fc.constant(-1n), fc.bigInt(0n, 2n ** 40n), fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n))
    .map(String),
  maxBytes: fc.nat(2 ** 31 - 1),
});
const body: fc.Arbitrary<FetchBody> = fc.record(
  {
    replicaId: fc.integer({ min: -1, max: 5 }),
    maxWaitTime: fc.nat(60_000),
    minBytes: fc.nat(100_000),
    maxBytes: fc.nat(2 ** 31 - 1),
    isolationLevel: fc.constantFrom(0, 1),
    topics: fc.array(fc.record({ topic: fc.string(), partitions: fc.array(partition, { maxLength: 5 }) }), {
      maxLength: 4,
    }),
    rackId: fc.string(),
  },
  { requiredKeys: ["maxWaitTime", "minBytes", "maxBytes", "topics"] },
);

test("writes what kafkajs writes", async () => {
  await fc.assert(
    fc.asyncProperty(body, async (asked) => {
      expect(encodeFetch(asked).toString("hex")).toBe((await kafkajs(asked)).toString("hex"));
    }),
  );
});
