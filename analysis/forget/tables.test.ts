import { expect, it } from "vitest";
import { localTable, onCluster } from "../../connections/clickhouse/render.ts";
import { addLetter, addRequest, createSubject } from "./subject.ts";
import { createForgetTables } from "./tables.ts";

const cluster = { database: "precedent", cluster: "main", ttlDays: 90 };

/** Every table has one row of it. */
function recording() {
  const [asked, done]: [string[], string[]] = [[], []];
  const letter = { topic: "t.requests", partition: 0, offset: 7, tenant: "", key: null, value: null };
  const tables = createForgetTables({
    target: (name) => `${localTable(name, cluster)} ${onCluster(cluster)}`,
    clickhouse: {
      query: <Row>(sql: string) => {
        asked.push(sql);
        return Promise.resolve([
          (sql.includes("FROM dead_letters") ? letter : { n: 1, tenant: "acme", id: "r1" }) as Row,
        ]);
      },
      command: (sql: string) => {
        done.push(sql);
        return Promise.resolve();
      },
    },
  });
  return { tables, asked, done };
}

it("deletes on a cluster from the tables of all shards, waits for all replicas, and never compares within a shard what lies on several", async () => {
  const { tables, asked, done } = recording();
  const subject = createSubject({ tenant: "acme", user: "ann" }, 1, "user-0123456789abcdef");
  addRequest(subject, "acme", "r1");
  await tables.find(subject);
  await tables.underWay(subject, 0);
  await tables.delete(subject, () => undefined);
  expect(asked).toContainEqual(expect.stringContaining("metadata['user'] IN ('ann', 'user-0123456789abcdef')"));
  expect(done.length).toBeGreaterThan(10);
  for (const sql of done)
    expect(sql).toMatch(
      /^ALTER TABLE precedent\.[a-z_]+_local ON CLUSTER 'main' DELETE WHERE .* SETTINGS mutations_sync = 2$/,
    );
  for (const sql of asked.filter((one) => one.includes("FROM erasures")))
    expect(sql).toMatch(/GLOBAL (?:NOT )?IN \(SELECT hash FROM erasures/);
});

it("finds dead letters by their position where the table withholds what is in them", async () => {
  const { tables } = recording();
  const subject = createSubject({ tenant: "acme", user: "ann" }, 1);
  expect(await tables.lettersOf(subject)).toEqual([]);
  addLetter(subject, { topic: "t.requests", partition: 0, offset: 7 });
  expect(await tables.lettersOf(subject)).toEqual([{ topic: "t.requests", partition: 0, offset: 7 }]);
});
