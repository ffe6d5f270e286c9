// Two ClickHouse servers with the same rows behind a load balancer, as replicas are: while one of
// them is killed, reads go on, those in progress too, and a write that it cut off goes to the other
// when its caller repeats it. Replication itself is ClickHouse's: the test writes to both.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createClickHouse } from "../../connections/clickhouse/client.ts";
import { migrate } from "../../connections/clickhouse/migrate.ts";
import { ClickHouseUnavailable, type ClickHouse } from "../../connections/clickhouse/port.ts";
import { startBalancer, type Balancer } from "../support/balancer.ts";
import { startFacade, type Facade } from "../support/clickhouse.ts";
import { eventually } from "../support/system.ts";

const database = "precedent_replicas";
let servers: Facade[];
let balancer: Balancer;
let clickhouse: ClickHouse;

beforeAll(async () => {
  servers = await Promise.all([startFacade(), startFacade()]);
  for (const { url, token } of servers) {
    const admin = createClickHouse({ url, username: "default", password: token });
    await migrate(admin, { database, ttlDays: 0 });
    await admin.command(`CREATE TABLE ${database}.numbers (n UInt32) ENGINE = ReplacingMergeTree ORDER BY n`);
    await admin.insert(
      `${database}.numbers`,
      Array.from({ length: 1_000 }, (_, n) => ({ n })),
    );
    await admin.close();
  }
  balancer = await startBalancer(servers.map(({ url }) => Number(new URL(url).port)));
  const url = `http://127.0.0.1:${balancer.port}`;
  clickhouse = createClickHouse({ url, username: "default", password: servers[0]!.token, database });
});
afterAll(async () => {
  await clickhouse.close();
  await balancer.stop();
  await Promise.all(servers.map((server) => server.remove()));
});

const sum = async (): Promise<number> =>
  Number((await clickhouse.query<{ sum: number }>("SELECT sum(n) AS sum FROM numbers FINAL"))[0]?.sum);
/** On both: connections go to the servers in turn. */
const slowReads = () =>
  Array.from({ length: 4 }, () => clickhouse.query("SELECT sleep(2), max(n) AS most FROM numbers"));

it.each([0, 1])("server %i is killed: no read fails, and a repeated write goes to the other", async (which) => {
  const server = servers[which]!;
  let reads = 0;
  let killed = false;
  const reading = (async () => {
    for (; !killed || reads % 50 !== 0; reads++) expect(await sum()).toBe(499_500);
  })();
  let ended = 0;
  const slow = slowReads().map((read) => read.finally(() => ended++));
  await sleep(300);
  expect(ended).toBe(0);
  await server.kill();
  killed = true;
  for (const rows of await Promise.all(slow)) expect(rows).toMatchObject([{ most: 999 }]);
  await reading;
  await eventually("a write", async () => {
    try {
      await clickhouse.insert("numbers", [{ n: 7 }]);
      return true;
    } catch (error) {
      expect(error).toBeInstanceOf(ClickHouseUnavailable);
      return undefined;
    }
  });
  console.log(JSON.stringify({ killed: which, reads, connections: [...balancer.taken().values()] }));
  await server.start();
  for (let i = 0; i < 20; i++) expect(await sum()).toBe(499_500);
});
