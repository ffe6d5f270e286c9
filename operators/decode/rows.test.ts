import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { evictedExampleRow } from "./example-rows.ts";
import { recordedTopicOf, recordedTopics, rowsOf, tableOf } from "./rows.ts";
import { testingRecords } from "./records.testing.ts";
import { double, floats, single, time, traceIdOf } from "./values.ts";

const position = { topic: "precedent.x", partition: 2, offset: 9, timestamp: Date.UTC(2026, 2, 1) };

describe("rows", () => {
  it("every record has one row in its topic's own table, last, with its position and its own time", () => {
    for (const topic of recordedTopics) {
      const toRows = rowsOf[topic] as (record: unknown, at: typeof position) => ReturnType<(typeof rowsOf)["requests"]>;
      const tables = toRows(testingRecords[topic], position);
      const own = tables.at(-1);
      expect(own?.table).toBe(tableOf(topic));
      expect(own?.rows).toHaveLength(1);
      for (const row of tables.flatMap(({ rows }) => rows)) {
        expect(row).toMatchObject({ topic: "precedent.x", kafka_partition: 2, kafka_offset: 9 });
        expect(row.created_at).toMatch(/^2026-03-01 12:00:0\d\.\d{3}$/);
      }
    }
  });

  it("a request without id and time is named by its position and dated by Kafka", () => {
    const table = rowsOf
      .requests({ ...testingRecords.requests, id: null, createdAt: null, domain: null }, position)
      .at(-1);
    expect(table?.rows).toMatchObject([
      { request_id: "precedent.x-2-9", created_at: "2026-03-01 00:00:00.000", domain: "acme/default" },
    ]);
  });

  const [trace, parent] = ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"];
  it.each([
    [trace, `00-${trace}-${parent}-01`],
    [trace, `01-${trace}-${parent}-00-more`],
    ["", `00-${trace}-${parent}-01-more`.slice(0, 30)],
    ["", `ff-${trace}-${parent}-01`],
    ["", `00-${"0".repeat(32)}-${parent}-01`],
    ["", `00-${trace.toUpperCase()}-${parent}-01`],
    ["", `x00-${trace}-${parent}-01`],
    ["", ""],
  ])("have the trace id %j of the header %j", (id, header) => {
    expect(traceIdOf(Buffer.from(header))).toBe(id);
    const [, row] = rowsOf.requests(testingRecords.requests, { ...position, traceparent: Buffer.from(header) });
    expect(row?.rows).toMatchObject([{ trace_id: id }]);
  });

  it("example_uses holds what the chosen arm was shown, in order, and nothing of the others", () => {
    const decision = testingRecords.decisions;
    const uses = (arm: string) => rowsOf.decisions({ ...decision, arm }, position)[0];
    expect(uses("small")).toMatchObject({
      table: "example_uses",
      rows: [
        { example_id: "e1", position: 1, explored: true, similarity: 0.5, features: [0.5, 0], arm_cost: 0.1 },
        { example_id: "e2", position: 2, explored: false, similarity: 0.75, cached_bonus: 0.02 },
      ],
    });
    expect(uses("large")?.rows).toEqual([]);
    expect(uses("gone")?.rows).toEqual([]);
  });

  it("example_trials holds the trial of the chosen arm, whether it was shown or not", () => {
    const decision = testingRecords.decisions;
    const trials = (arm: string) => rowsOf.decisions({ ...decision, arm }, position)[1];
    expect(trials("small")).toMatchObject({
      table: "example_trials",
      rows: [{ example_id: "e1", request_id: "r1", arm: "small", shown: true, probability: 0.5, examples: 2 }],
    });
    expect(trials("small")?.rows).toMatchObject([
      { features: [0.5, 0], arm_probability: 0.75, helpfulness_version: 0 },
    ]);
    expect(trials("large")?.rows).toEqual([]);
    expect(trials("gone")?.rows).toEqual([]);
  });

  it("what a response cost stands under its account and the day, the same when it comes again, and names no request", () => {
    const response = { ...testingRecords.responses, createdAt: Date.UTC(2026, 1, 28, 23, 59, 59, 999) };
    const rows = (change: Partial<typeof response>) => rowsOf.responses({ ...response, ...change }, position)[0];
    expect(rows({})).toMatchObject({
      table: "account_costs",
      rows: [{ account: "prk-1", day: "2026-02-28", cost: 0.001 }],
    });
    expect(rowsOf.responses(response, { ...position, offset: 77 })[0]?.rows[0]?.hash).toBe(rows({})?.rows[0]?.hash);
    expect(rows({ tenant: "beta" })?.rows[0]?.hash).not.toBe(rows({})?.rows[0]?.hash);
    for (const named of [response.requestId, response.tenant])
      expect(Object.values(rows({})!.rows[0]!)).not.toContain(named);
    for (const free of [{ duplicate: true }, { account: null }, { cost: 0 }]) expect(rows(free)?.rows).toEqual([]);
    expect(rowsOf["alternative-answers"](response, position).map(({ table }) => table)).toEqual([
      "alternative_answers",
    ]);
  });

  it("a tombstone is an evicted example, known by its key", () => {
    expect(evictedExampleRow("ac%2Fme/shell/e1", position)?.rows).toMatchObject([
      { example_id: "e1", domain: "ac%2Fme/shell", tenant: "ac/me", deleted: true },
    ]);
    expect(evictedExampleRow("nonsense", position)).toBeNull();
  });

  it("topics are known by their prefix", () => {
    expect(recordedTopicOf("p.")("p.dead-letters")).toBe("dead-letters");
    expect(() => recordedTopicOf("p.")("q.requests")).toThrow(/does not take the topic/);
    expect(() => recordedTopicOf("p.")("p.work.small")).toThrow(/does not take the topic/);
  });
});

describe("values", () => {
  it("times stay within what a table can keep", () => {
    expect(time(0)).toBe("1970-01-01 00:00:00.000");
    expect(time(-5)).toBe("1970-01-01 00:00:00.000");
    expect(time(Number.MAX_SAFE_INTEGER)).toBe("2100-01-01 00:00:00.000");
    expect(time(Number.NaN)).toBe("1970-01-01 00:00:00.000");
    expect(time(1_772_366_400_123)).toBe("2026-03-01 12:00:00.123");
  });

  it("numbers that JSON can't say are said in words", () => {
    expect([1.5, Number.NaN, Infinity, -Infinity].map(double)).toEqual([1.5, "nan", "inf", "-inf"]);
  });

  it("a float32 in few digits is the same float32", () => {
    fc.assert(
      fc.property(
        fc.float({ noNaN: true, noDefaultInfinity: true }),
        (value) => Math.fround(Number(single(value))) === value,
      ),
    );
    expect([0.1, -0.2, 3].map((value) => single(Math.fround(value)))).toEqual([0.1, -0.2, 3]);
    expect(String(single(Math.fround(1.2345678e-7)))).toBe("1.23456786e-7");
    expect(single(Math.PI)).toBe(Math.PI);
    expect([1e30, Number.NaN, Infinity, -Infinity].map(single)).toEqual([1e30, "nan", "inf", "-inf"]);
  });

  it("embeddings are read as float32, a broken tail left out", () => {
    const bytes = Buffer.concat([Buffer.from(new Float32Array([0.1, -2, Number.NaN]).buffer), Buffer.from([1, 2])]);
    const values = floats(bytes);
    expect(values).toHaveLength(3);
    expect(Math.fround(Number(values[0]))).toBe(Math.fround(0.1));
    expect(values.slice(1)).toEqual([-2, "nan"]);
  });
});
