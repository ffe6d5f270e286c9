import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSeenIds, SEEN_FOR_MS } from "./seen.ts";

const at = (offset: number, partition = 0) => ({ topic: "requests", partition, offset });

describe("seen ids", () => {
  it("tells a repeat from the same record taken up again", () => {
    const seen = createSeenIds();
    expect(seen.firstSeen("t", "a", at(1), 0)).toBeNull();
    expect(seen.firstSeen("t", "a", at(1), 5)).toBeNull();
    expect(seen.firstSeen("t", "a", at(9), 5)).toEqual(at(1));
    expect(seen.firstSeen("t", "a", at(9), 5)).toEqual(at(1));
    expect(seen.firstSeen("t", "a", at(1, 3), 5)).toEqual(at(1));
    expect(seen.firstSeen("other", "a", at(9), 5)).toBeNull();
  });

  it("forgets after 24 hours, and with the partition", () => {
    const seen = createSeenIds();
    seen.firstSeen("t", "a", at(1), 0);
    expect(seen.firstSeen("t", "a", at(2), SEEN_FOR_MS - 1)).toEqual(at(1));
    expect(seen.firstSeen("t", "a", at(3), SEEN_FOR_MS)).toBeNull();
    expect(seen.firstSeen("t", "a", at(4), SEEN_FOR_MS)).toEqual(at(3));
    seen.drop(0);
    expect(seen.size()).toBe(0);
    expect(seen.firstSeen("t", "a", at(4), SEEN_FOR_MS)).toBeNull();
  });

  it("restores the earliest, and keeps what it knows", () => {
    const seen = createSeenIds();
    seen.firstSeen("t", "a", at(5), 100);
    seen.restore([
      { tenant: "t", id: "a", position: at(1), seenAt: 50 },
      { tenant: "t", id: "b", position: at(4), seenAt: 60 },
      { tenant: "t", id: "b", position: at(2), seenAt: 20 },
    ]);
    expect(seen.firstSeen("t", "a", at(7), 100)).toEqual(at(5));
    expect(seen.firstSeen("t", "b", at(7), 100)).toEqual(at(2));
  });

  it("stays within its bound and gives every id exactly one owner", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(5), fc.nat(2)), { maxLength: 60 }), (records) => {
        const seen = createSeenIds({ limit: 20 });
        const owners = new Set<number>();
        records.forEach(([id, partition], offset) => {
          if (seen.firstSeen("t", String(id), at(offset, partition), offset) === null) owners.add(id);
        });
        expect(owners.size).toBe(seen.size());
        for (let i = 0; i < 50; i++) seen.firstSeen("t", `x${i}`, at(1_000 + i), 1_000);
        expect(seen.size()).toBeLessThanOrEqual(60);
      }),
    );
  });
});
