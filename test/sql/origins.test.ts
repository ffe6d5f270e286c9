// Topics that were made again, or are another cluster's, as learn and curate read them out of a
// real ClickHouse: offsets that begin at 0 again are new, and what was read before is not read
// twice. Needs no Kafka.
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Origin } from "../../algorithms/identity/origin.ts";
import { createCandidates, curateReader } from "../../operators/admit/candidates.ts";
import { createAggregate } from "../../operators/aggregate/aggregate.ts";
import { rowsOf } from "../../operators/decode/rows.ts";
import { testingRecords } from "../../operators/decode/records.testing.ts";
import { type MigratedDatabase, startDatabase } from "../support/clickhouse.ts";
import { decisionOf, feedbackOf, recordInto } from "../support/learning.ts";

const origins: (Origin | undefined)[] = [undefined, { cluster: "c", topicId: "T" }, { cluster: "c", topicId: "U" }];
let database: MigratedDatabase;

beforeAll(async () => {
  database = await startDatabase("origins_test");
}, 60_000);
afterAll(() => database.remove());

it("learn takes in what a topic made again brings, though its offsets are lower, and nothing twice", async () => {
  const { clickhouse } = database;
  const topics = { feedback: "t.feedback", decisions: "t.decisions" };
  const aggregate = createAggregate({ clickhouse, topics, featureVersion: 1, dimension: 3 });
  let requests = 0;
  for (const [at, origin] of origins.entries()) {
    const log = recordInto(clickhouse, 1, origin);
    const count = 6 - at; // fewer every time: all of the later offsets lie below the former position
    for (let i = 0; i < count; i++) {
      await log.decisions(decisionOf(`${at}-${i}`, "a", [1, 2, 3]));
      await log.feedback(feedbackOf(`${at}-${i}`, { value: 1 }));
    }
    requests += count;
    expect(await aggregate.advance()).toMatchObject({ rows: 2 * count, more: false });
    const [arm] = await aggregate.statistics(24);
    expect(arm?.count).toBe(requests);
    expect((await aggregate.advance()).rows).toBe(0);
  }
});

it("learn catches up over several origins at once", async () => {
  const { clickhouse } = database;
  await clickhouse.command("TRUNCATE TABLE learn_positions");
  const topics = { feedback: "t.feedback", decisions: "t.decisions" };
  const aggregate = createAggregate({ clickhouse, topics, featureVersion: 1, dimension: 3 });
  const passes = [];
  do passes.push(await aggregate.advance());
  while (passes.at(-1)?.more === true);
  expect(passes.map(({ rows }) => rows)).toEqual([12, 10, 8]);
});

it("curate finds the observations of a topic made again", async () => {
  const { clickhouse } = database;
  const candidates = createCandidates({ clickhouse, observations: "t.observations", limit: 10, overlapMs: 0 });
  for (const [at, origin] of origins.entries()) {
    const ids = Array.from({ length: 6 - at }, (_, i) => `${at}-${i}`);
    const { request } = testingRecords.observations;
    const rows = ids.flatMap((id, offset) =>
      rowsOf
        .observations(
          { ...testingRecords.observations, request: { ...request, id } },
          { topic: "t.observations", partition: 0, offset, timestamp: 0, ...(origin === undefined ? {} : { origin }) },
        )
        .flatMap((table) => table.rows),
    );
    await clickhouse.insert("observations", rows);
    const { candidates: found, cursors } = await candidates();
    expect(found.map(({ requestId }) => requestId)).toEqual(ids);
    await clickhouse.insert(
      "cursors",
      cursors.map(({ source, partition: kafka_partition, position }) => ({
        ...{ reader: curateReader, source, kafka_partition, position },
      })),
    );
    expect((await candidates()).candidates).toEqual([]);
  }
});
