import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSeenIds, SEEN_FOR_MS } from "./seen.ts";

const at = (offset: number, partition = 0) => ({ topic: "requests", partition, offset });

describe("seen ids", () => {
  it("tells a repeat from the same record taken up again", () => {
    const seen = createSeenIds();
    expect(seen.firstSeen("t", "a", at(1), 0, "h")).toBeNull();
    expect(seen.firstSeen("t", "a", at(1), 5, "h")).toBeNull();
    expect(seen.firstSeen("t", "a", at(9), 5, "h")).toEqual(at(1));
    expect(seen.firstSeen("t", "a", at(9), 5, "h")).toEqual(at(1));
    expect(seen.firstSeen("t", "a", at(1, 3), 5, "h")).toEqual(at(1));
    expect(seen.firstSeen("other", "a", at(9), 5, "h")).toBeNull();
  });

  it("forgets after 24 hours, and with the partition", () => {
    const seen = createSeenIds();
    seen.firstSeen("t", "a", at(1), 0, "h");
    expect(seen.firstSeen("t", "a", at(2), SEEN_FOR_MS - 1, "h")).toEqual(at(1));
    expect(seen.firstSeen("t", "a", at(3), SEEN_FOR_MS, "h")).toBeNull();
    expect(seen.firstSeen("t", "a", at(4), SEEN_FOR_MS, "h")).toEqual(at(3));
    seen.drop(0);
    expect(seen.size()).toBe(0);
    expect(seen.firstSeen("t", "a", at(4), SEEN_FOR_MS, "h")).toBeNull();
  });

  it("restores the earliest, and keeps what it knows", () => {
    const seen = createSeenIds();
    seen.firstSeen("t", "a", at(5), 100, "h");
    seen.restore([
      { tenant: "t", id: "a", position: at(1), seenAt: 50, hash: "h" },
      { tenant: "t", id: "b", position: at(4), seenAt: 60, hash: "h" },
      { tenant: "t", id: "b", position: at(2), seenAt: 20, hash: "h" },
    ]);
    expect(seen.firstSeen("t", "a", at(7), 100, "h")).toEqual(at(5));
    expect(seen.firstSeen("t", "b", at(7), 100, "h")).toEqual(at(2));
  });

  it("tells what is remembered of the record that was first, and of no other", () => {
    const seen = createSeenIds();
    seen.firstSeen("t", "a", at(1, 2), 10, "h");
    expect(seen.firstAt("t", "a", at(1, 2))).toEqual({ hash: "h", seenAt: 10 });
    for (const [tenant, id, position] of [
      ["t", "a", at(2, 2)],
      ["t", "a", at(1, 3)],
      ["t", "b", at(1, 2)],
      ["u", "a", at(1, 2)],
    ] as const)
      expect(seen.firstAt(tenant, id, position)).toBeUndefined();
  });

  it("stays within its bound and gives every id exactly one owner", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(5), fc.nat(2)), { maxLength: 60 }), (records) => {
        const seen = createSeenIds({ limit: 20 });
        const owners = new Set<number>();
        records.forEach(([id, partition], offset) => {
          if (seen.firstSeen("t", String(id), at(offset, partition), offset, "h") === null) owners.add(id);
        });
        expect(owners.size).toBe(seen.size());
        for (let i = 0; i < 50; i++) seen.firstSeen("t", `x${i}`, at(1_000 + i), 1_000, "h");
        expect(seen.size()).toBeLessThanOrEqual(60);
      }),
    );
  });
});
