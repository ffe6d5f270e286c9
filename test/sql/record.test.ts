// record on a real ClickHouse, fed by hand: every topic's rows, repeats, positions, an outage.
// Needs no Kafka.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createClickHouse } from "../../connections/clickhouse/client.ts";
import { migrate } from "../../connections/clickhouse/migrate.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { recordedTopics, tableOf } from "../../operators/decode/rows.ts";
import { testingRecords } from "../../operators/decode/records.testing.ts";
import { startFacade, type Facade } from "../support/clickhouse.ts";
import { createdAt, startRecordOn } from "../support/record.ts";

let facade: Facade;
let clickhouse: ClickHouse;
let database = "";
let runs = 0;

beforeAll(async () => {
  facade = await startFacade();
});
afterAll(async () => {
  await facade.remove();
});
beforeEach(async () => {
  database = `precedent_test_${++runs}`;
  await clickhouse?.close();
  clickhouse = createClickHouse({ url: facade.url, username: "default", password: facade.token, database });
  const admin = createClickHouse({ url: facade.url, username: "default", password: facade.token });
  await migrate(admin, { database, ttlDays: 0 });
  await admin.close();
});

const startRecord = (limits: { batchRows?: number; batchMs?: number } = {}) => startRecordOn(clickhouse, limits);

const savingsRow = (rows: Record<string, unknown>[]): Record<string, unknown> => rows[0] ?? {};

const count = async (table: string): Promise<number> => {
  const [row] = await clickhouse.query<{ rows: number }>(`SELECT count() AS rows FROM ${table} FINAL`);
  return row?.rows ?? -1;
};

describe("record on ClickHouse", () => {
  it("puts every topic into its table, once, however often it comes", async () => {
    const { stage, feed, deadLetters } = await startRecord();
    for (let repeat = 0; repeat < 3; repeat++)
      for (const topic of recordedTopics) await feed(topic, 0, 7, [testingRecords[topic]]);
    await stage.stop();
    for (const topic of recordedTopics) expect([topic, await count(tableOf(topic))]).toEqual([topic, 1]);
    expect(await count("example_uses")).toBe(2);
    expect(deadLetters).toEqual([]);
    const [outcome] = await clickhouse.query("SELECT * FROM outcomes");
    expect(outcome).toMatchObject({
      request_id: "r1",
      question: "list all files",
      decided_arm: "small",
      probability: 0.75,
      status: "ok",
      text: "ls -a",
      degraded: ["policy"],
      answered_at: "2026-03-01 12:00:00.173",
    });
    const { request_id, arm, most_expensive_arm, cost, most_expensive_cost } = savingsRow(
      await clickhouse.query("SELECT * FROM savings"),
    );
    expect({ request_id, arm, most_expensive_arm, cost, most_expensive_cost }).toEqual({
      request_id: "r1",
      arm: "small",
      most_expensive_arm: "large",
      cost: 0.001,
      // The large arm has answered nothing yet: unknown, not nothing.
      most_expensive_cost: null,
    });
    expect(await clickhouse.query("SELECT embedding, deleted FROM examples FINAL")).toEqual([
      { embedding: [0.6, -0.8], deleted: false },
    ]);
    expect(await clickhouse.query("SELECT hex(value) AS value, headers FROM dead_letters FINAL")).toEqual([
      { value: "00FF01", headers: { h: "v" } },
    ]);
    expect(await clickhouse.query("SELECT isNaN(metrics['broken']) AS nan FROM policies FINAL")).toEqual([{ nan: 1 }]);
  });

  it("tells what the most expensive arm would have cost, from its own answers", async () => {
    const { stage, feed } = await startRecord();
    await feed("requests", 0, 0, [testingRecords.requests]);
    await feed("decisions", 0, 0, [testingRecords.decisions]);
    const large = { ...testingRecords.responses, requestId: "r0", arm: "large", cost: 1 };
    await feed("responses", 0, 0, [testingRecords.responses, large]);
    await stage.stop();
    // A hundred tokens, 24 of them examples that the large arm would not have been shown, at a
    // hundredth each.
    expect(await clickhouse.query("SELECT most_expensive_cost, saved FROM savings")).toEqual([
      { most_expensive_cost: 0.76, saved: 0.759 },
    ]);
  });

  it("counts an answer that cost more than the most expensive arm's would have, as a loss", async () => {
    const { stage, feed } = await startRecord();
    await feed("requests", 0, 0, [testingRecords.requests]);
    await feed("decisions", 0, 0, [testingRecords.decisions]);
    const large = { ...testingRecords.responses, requestId: "r0", arm: "large", cost: 1 };
    await feed("responses", 0, 0, [{ ...testingRecords.responses, cost: 2 }, large]);
    await stage.stop();
    expect(await clickhouse.query("SELECT round(saved, 6) AS saved FROM savings")).toEqual([{ saved: -1.24 }]);
  });

  it("counts what alternative answers cost against what was saved, and puts both answers side by side", async () => {
    const { stage, feed } = await startRecord();
    await feed("requests", 0, 0, [testingRecords.requests]);
    await feed("decisions", 0, 0, [testingRecords.decisions]);
    const own = { ...testingRecords.responses, failedArms: [] };
    const large = { ...own, requestId: "r0", arm: "large", cost: 1 };
    await feed("responses", 0, 0, [own, large]);
    await feed("alternative-answers", 0, 0, [{ ...testingRecords["alternative-answers"], cost: 0.8 }]);
    await stage.stop();
    expect(await clickhouse.query("SELECT alternative_cost, round(saved, 6) AS saved FROM savings")).toEqual([
      { alternative_cost: 0.8, saved: -0.041 },
    ]);
    expect(await clickhouse.query("SELECT arm, text, other_arm, other_text FROM answer_pairs")).toEqual([
      { arm: "small", text: "ls -a", other_arm: "large", other_text: "ls -la" },
    ]);
    expect(await clickhouse.query("SELECT asked, ask_probability, alternative FROM decisions FINAL")).toEqual([
      { asked: true, ask_probability: 1, alternative: true },
    ]);
  });

  it("the copy for a repeated id does not stand in for the first response", async () => {
    const { stage, feed } = await startRecord();
    const first = testingRecords.responses;
    await feed("responses", 0, 1, [
      first,
      { ...first, duplicate: true, source: "reuse", createdAt: createdAt + 9_999 },
    ]);
    await feed("requests", 0, 1, [
      testingRecords.requests,
      { ...testingRecords.requests, metadata: { second: "yes" } },
    ]);
    await stage.stop();
    expect(await clickhouse.query("SELECT source, duplicate FROM responses FINAL ORDER BY duplicate")).toEqual([
      { source: "generated", duplicate: false },
      { source: "reuse", duplicate: true },
    ]);
    expect(await clickhouse.query("SELECT source, metadata FROM outcomes")).toEqual([
      { source: "generated", metadata: { team: "ops" } },
    ]);
  });

  it.each(["first", "last"])(
    "of two requests with one id in two partitions the first by time counts, whichever is stored %s, and both are on record",
    async (stored) => {
      const request = { ...testingRecords.requests, id: "same" };
      const early = { ...request, createdAt, metadata: { which: "early" } };
      const late = { ...request, createdAt: createdAt + 5, metadata: { which: "late" } };
      const other = { ...request, createdAt: createdAt + 9, tenant: "other", metadata: { which: "another tenant's" } };
      // The later one has the lower offset.
      const feeds = [
        ["requests", 1, 900, [early]],
        ["requests", 0, 3, [late, other]],
        ["responses", 0, 0, [{ ...testingRecords.responses, requestId: "same", tenant: request.tenant }]],
      ] as const;
      for (const one of stored === "first" ? feeds : feeds.toReversed()) {
        const { stage, feed } = await startRecord();
        await feed(one[0], one[1], one[2], one[3]);
        await stage.stop();
      }
      const check = async () => {
        const rows = await clickhouse.query(
          "SELECT tenant, metadata['which'] AS which, answered FROM outcomes WHERE request_id = 'same' ORDER BY tenant",
        );
        expect(rows).toEqual([
          { tenant: request.tenant, which: "early", answered: true },
          { tenant: "other", which: "another tenant's", answered: false },
        ]);
        expect(await count("requests")).toBe(2);
        expect(await count("request_arrivals")).toBe(3);
      };
      await check();
      await clickhouse.command(`OPTIMIZE TABLE ${database}.requests FINAL`);
      await check();
      expect(await clickhouse.query("SELECT count() AS rows FROM requests")).toEqual([{ rows: 2 }]);
    },
  );

  it("an evicted example loses its texts and stays evicted", async () => {
    const { stage, feed } = await startRecord();
    await feed("examples", 0, 1, [testingRecords.examples, null], "acme/shell/e1");
    await feed("examples", 0, 1, [testingRecords.examples], "acme/shell/e1");
    await stage.stop();
    expect(await clickhouse.query("SELECT example_id, tenant, request, deleted FROM examples FINAL")).toEqual([
      { example_id: "e1", tenant: "acme", request: "", deleted: true },
    ]);
  });

  it("goes on after what ClickHouse has", async () => {
    const first = await startRecord();
    expect(await first.assigned("decisions", 1)).toEqual([{ topic: "t.decisions", partition: 1, offset: undefined }]);
    const decision = testingRecords.decisions;
    await first.feed("decisions", 1, 40, [decision, { ...decision, requestId: "r2" }]);
    await first.stage.stop();
    expect(first.committed.get("t.decisions/1")).toBe(42);
    const second = await startRecord();
    expect(await second.assigned("decisions", 1)).toEqual([{ topic: "t.decisions", partition: 1, offset: 42 }]);
    await second.stage.stop();
  });

  it("undecodable records are counted, and dead-lettered if no other stage does it", async () => {
    const { stage, feed, deadLetters } = await startRecord();
    for (const topic of ["requests", "feedback", "dead-letters"] as const) await feed(topic, 0, 3, [Buffer.from([0])]);
    await feed("feedback", 0, 4, [testingRecords.feedback]);
    await stage.stop();
    expect(deadLetters.map(({ source, code }) => [source.topic, code])).toEqual([["t.feedback", "undecodable"]]);
    expect(await count("feedback")).toBe(1);
  });

  it("a row that ClickHouse refuses becomes a dead letter, and takes no other along", async () => {
    const { stage, feed, deadLetters } = await startRecord();
    const records = Array.from({ length: 50 }, (_, index) => ({
      ...testingRecords.responses,
      requestId: `r${index}`,
      attempt: index === 31 ? "many" : 1,
    }));
    await feed("responses", 0, 100, records);
    await stage.stop();
    expect(deadLetters.map(({ source }) => source.record.offset)).toEqual([131]);
    expect(await count("responses")).toBe(49);
  });

  it("refused requests and dead letters are kept as well, whatever the reason, and the good ones among them stand", async () => {
    const { code } = testingRecords["dead-letters"];
    const zero = "Nullable(Enum8('zero' = 0))";
    await clickhouse.command(`ALTER TABLE ${database}.requests MODIFY COLUMN reply_partition ${zero}`);
    await clickhouse.command(`ALTER TABLE ${database}.dead_letters MODIFY COLUMN code Enum8('${code}' = 1)`);
    const { stage, feed, deadLetters } = await startRecord();
    const of = (id: string, more: object = {}) => ({ ...testingRecords.requests, id, replyPartition: null, ...more });
    const bad = [
      of("poison", { replyPartition: 7 }),
      of("enum", { replyPartition: 9 }),
      of("number", { allow: { ...testingRecords.requests.allow, deadlineMs: "soon" } }),
    ];
    await feed("requests", 0, 10, [of("a"), bad[0]!, of("b"), bad[1]!, bad[2]!, of("c")]);
    await feed("dead-letters", 0, 5, [
      testingRecords["dead-letters"],
      { ...testingRecords["dead-letters"], code: "poison" },
    ]);
    await stage.stop();
    expect(await clickhouse.query("SELECT request_id FROM requests FINAL ORDER BY request_id")).toEqual(
      ["a", "b", "c"].map((request_id) => ({ request_id })),
    );
    const kept = deadLetters.map(({ source: { topic, record } }) => `${topic}/${record.offset}`);
    expect(kept.sort()).toEqual(["t.dead-letters/6", "t.requests/11", "t.requests/13", "t.requests/14"]);
    const whole = deadLetters.find(({ source }) => source.record.offset === 11)?.source.record.value;
    expect(JSON.parse(String(whole))).toMatchObject({ id: "poison", messages: bad[0]!.messages });
  });

  it("loses nothing when ClickHouse is killed, and holds records back meanwhile", async () => {
    const { stage, feed, deadLetters } = await startRecord({ batchRows: 100, batchMs: 5 });
    const total = 3_000;
    let fed = 0;
    const feeding = (async () => {
      while (fed < total) {
        const records = Array.from({ length: 50 }, (_, index) => ({
          ...testingRecords.requests,
          id: `r${fed + index}`,
          // Three months, out of order.
          createdAt: Date.UTC(2026, (fed + index) % 700 === 0 ? 1 : 2, 1 + (fed % 28)),
        }));
        await feed("requests", 0, fed, records);
        fed += records.length;
      }
    })();
    while (fed < 500) await delay(5);
    await facade.kill();
    await delay(1_000);
    const held = fed;
    await delay(500);
    // A flush under way, a full batch and the records of one call.
    expect(fed).toBe(held);
    expect(fed).toBeLessThan(total);
    await facade.start();
    await feeding;
    await stage.stop();
    expect(await count("requests")).toBe(total);
    expect(deadLetters).toEqual([]);
  });
});
