import { describe, expect, test } from "vitest";
import type { Placement } from "../../state/policies/placement.ts";
import { placement, partitionOffsets, placing, settle } from "./placement.testing.ts";
import { createExampleTopic, homeOf, partitions, type ExampleTopic } from "./topic.testing.ts";

describe("placement", () => {
  test("a domain that is asked on a partition gets all its examples there, then says from where on it is whole", async () => {
    const its = createExampleTopic();
    for (const id of ["a", "b", "c", "d", "e"]) its.put("t/one", id, 1);
    its.put("t/two", "a", 1);
    its.put("t/one", "b", null);
    its.record();
    const placer = placing(its, [{ domain: "t/one", partition: 2 }]);
    expect(await placer.pass()).toMatchObject({ mode: "shared", placed: 1 });
    const [[partition, offset] = [0, null]] = partitionOffsets(its, "t/one");
    expect([partition, offset]).toEqual([2, its.length(2)]);
    expect(its.contentOf(2, "t/one")).toEqual(its.homesOf("t/one"));
    expect([...its.contentOf(2, "t/two").keys()].filter((key) => homeOf(key) !== 2)).toEqual([]);
    // The filling was announced before it began.
    expect(its.published.map(({ body }) => (JSON.parse(body) as { domains: unknown }).domains)).toEqual([
      { "t/one": { 2: null } },
      { "t/one": { 2: offset } },
    ]);
    await placer.stop();
  });

  test("whatever happens at the home afterwards happens there too, once, removals as well", async () => {
    const its = createExampleTopic();
    const placer = placing(
      its,
      [1, 2].map((partition) => ({ domain: "t/one", partition })),
    );
    await settle(its, placer);
    for (const id of ["a", "b", "c"]) its.put("t/one", id, 1);
    its.put("t/one", "b", null);
    its.put("t/other", "x", 1);
    await settle(its, placer);
    expect(its.contentOf(1, "t/one")).toEqual(its.homesOf("t/one"));
    expect(its.contentOf(2, "t/one")).toEqual(its.homesOf("t/one"));
    expect(its.homesOf("t/one").size).toBe(2);
    // Copies are not copied: four changes, each to the partitions that are not its home.
    const copies = ["a", "b", "c", "b"].flatMap((id) =>
      [1, 2].filter((partition) => partition !== homeOf(`t/one/${id}`)),
    );
    const written = [0, 1, 2, 3].reduce((sum, partition) => sum + its.length(partition), 0);
    expect(written).toBe(5 + copies.length);
    // By its time ClickHouse tells the newest state: a copy must not seem newer than what has
    // happened since.
    const [home, ...others] = its.recordsOf("t/one/a").sort((one, other) => Number(one.copy) - Number(other.copy));
    expect(others).toEqual(others.map(() => ({ timestamp: home?.timestamp, copy: true })));
    await placer.stop();
  });

  test("nothing is filled in while ClickHouse lags behind what was copied", async () => {
    const its = createExampleTopic();
    its.put("t/one", "a", 1);
    const placer = placing(its, [{ domain: "t/one", partition: (homeOf("t/one/a") + 1) % partitions }]);
    await placer.pass();
    await placer.pass();
    expect(partitionOffsets(its, "t/one").map(([, offset]) => offset)).toEqual([null]);
    its.record();
    expect(await placer.pass()).toMatchObject({ placed: 1, copied: 1 });
    await placer.stop();
  });

  test("a large domain is filled page by page, and pairs seen meanwhile after it", async () => {
    const its = createExampleTopic();
    for (let i = 0; i < 2_300; i++) its.put("t/large", `id-${i}`, 1);
    its.put("t/small", "a", 1);
    its.record();
    const seen = [{ domain: "t/large", partition: 0 }];
    const placer = placing(its, seen);
    expect(await placer.pass()).toMatchObject({ placed: 0, more: true });
    seen.push({ domain: "t/large", partition: 1 }, { domain: "t/small", partition: 3 });
    await settle(its, placer);
    for (const partition of [0, 1]) expect(its.contentOf(partition, "t/large")).toEqual(its.homesOf("t/large"));
    expect(its.contentOf(3, "t/small").size).toBe(1);
    expect(
      [...partitionOffsets(its, "t/large"), ...partitionOffsets(its, "t/small")].every(([, offset]) => offset !== null),
    ).toBe(true);
    await placer.stop();
  });
});

describe("the mode", () => {
  const auto = { pool: "auto", shareAbove: 10, countEveryMs: 0 } as const;
  const put = (its: ExampleTopic, from: number, to: number, version: number | null): void => {
    for (let i = from; i < to; i++) its.put("t/one", `id-${i}`, version);
    its.record();
  };

  test("below the limit nothing is read, placed or published", async () => {
    const its = createExampleTopic();
    put(its, 0, 10, 1);
    const placer = placing(its, [{ domain: "t/one", partition: 2 }], { rules: auto });
    expect(await placer.pass()).toEqual({ mode: "global", placed: 0, copied: 0, more: false });
    expect(its.published).toEqual([]);
    await placer.stop();
  });

  test("is shared when what was seen is whole, and global again well below; copies follow their homes all the same", async () => {
    const its = createExampleTopic();
    put(its, 0, 11, 1);
    const placer = placing(its, [{ domain: "t/one", partition: 2 }], { rules: auto });
    await settle(its, placer);
    expect(its.published.map(({ body }) => (JSON.parse(body) as Placement).mode)).toEqual(["global", "shared"]);
    put(its, 0, 2, null);
    await settle(its, placer);
    expect(placement(its).mode).toBe("shared"); // 9 are more than four fifths of 10
    put(its, 2, 6, null);
    await settle(its, placer);
    expect(placement(its).mode).toBe("global");
    put(its, 6, 9, null);
    await settle(its, placer);
    expect(its.contentOf(2, "t/one")).toEqual(its.homesOf("t/one"));
    await placer.stop();
  });
});
