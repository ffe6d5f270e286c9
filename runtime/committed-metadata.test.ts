import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeFinished, encodeFinished, windowOffsets } from "./finished-offsets.ts";
import { sameOrigin, shortCluster, splitOrigin, unknownOrigin, withOrigin } from "../algorithms/identity/origin.ts";

const id = fc.stringMatching(/^[A-Za-z0-9_-]{22}$/);
const origins = fc.record({ cluster: fc.oneof(fc.constant(""), id), topicId: fc.oneof(fc.constant(""), id) });
const offsets = fc
  .uniqueArray(fc.integer({ min: 0, max: windowOffsets - 1 }), { maxLength: 2_000 })
  .map((found) => found.sort((a, b) => a - b));

test("whatever is finished comes back with its origin, within what the broker takes", () => {
  fc.assert(
    fc.property(origins, offsets, (origin, finished) => {
      const text = withOrigin(origin, encodeFinished(finished));
      expect(text.length).toBeLessThanOrEqual(4_096);
      const back = splitOrigin(text);
      expect(back.origin).toEqual(origin);
      expect(decodeFinished(back.metadata)).toEqual(finished);
    }),
  );
});

test("the largest window leaves room for it", () => {
  const every = Array.from({ length: windowOffsets / 2 }, (_, i) => 2 * i);
  expect(encodeFinished(every).length).toBeGreaterThan(2_700);
  const origin = { cluster: "c".repeat(22), topicId: "t".repeat(22) };
  expect(withOrigin(origin, encodeFinished([...every, windowOffsets - 1])).length).toBeLessThan(2_800);
});

test.each(["", "rAAE=", "bAg==", "@", "@x", "@a b.c:"])("metadata of an older version has none: %j", (text) => {
  expect(splitOrigin(text)).toEqual({ origin: unknownOrigin, metadata: text });
});

test("another cluster or another topic is distinguished from an unknown one", () => {
  const known = { cluster: "c", topicId: "t" };
  expect(sameOrigin(known, { ...known })).toBe(true);
  expect(sameOrigin(known, unknownOrigin)).toBe(true);
  expect(sameOrigin(known, { cluster: "c", topicId: "" })).toBe(true);
  expect(sameOrigin(known, { cluster: "c", topicId: "u" })).toBe(false);
  expect(sameOrigin(known, { cluster: "d", topicId: "" })).toBe(false);
});

test("a cluster's id of any form becomes a short one", () => {
  expect(shortCluster("5L6g3nShT-eMCtK--X86sw")).toBe("5L6g3nShT-eMCtK--X86sw");
  expect(shortCluster("our cluster: the first one of all")).toMatch(/^[A-Za-z0-9_-]{22}$/);
});
