// What an example's caches are made behind, on a real ClickHouse. Needs no Kafka.
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { createBuildAgenda, hubShare } from "../../state/inventory/agenda.ts";
import { type MigratedDatabase, startDatabase } from "../support/clickhouse.ts";

let database: MigratedDatabase;
let clickhouse: ClickHouse;

/** Examples on a circle, each a step further: the nearest are its neighbours. */
const add = (domain: string, count: number): Promise<void> =>
  clickhouse.command(
    `INSERT INTO examples (example_id, tenant, domain, request, response, source_arm, embedding, embedding_model, created_at, kafka_timestamp)
     SELECT concat('e', toString(number)), 't', '${domain}', concat('q', toString(number)), 'a', 'large',
       [toFloat32(cos(number / ${count})), toFloat32(sin(number / ${count}))], 'm', now64(3), now64(3) FROM numbers(${count})`,
  );

beforeAll(async () => {
  database = await startDatabase("build_agenda_test");
  clickhouse = database.clickhouse;
  await add("t/large", 2_000);
  await add("t/small", 20);
});
afterAll(() => database.remove());

const agenda = () => createBuildAgenda({ clickhouse }, "small");
const chainOf = async (domain: string, id: string): Promise<string[]> =>
  (await agenda().item({ id, domain }, 2))!.examples.map((example) => example.id);

it("goes behind the nearest hub and the hub nearest to that, the same for all that share it", async () => {
  const hubs = await clickhouse.query<{ id: string }>(
    `SELECT example_id AS id FROM examples WHERE domain = 't/large' AND cityHash64(example_id) % ${hubShare} = 0
     ORDER BY toUInt32(substring(example_id, 2))`,
  );
  const places = hubs.map(({ id }) => Number(id.slice(1)));
  expect(places.length).toBeGreaterThan(10);
  const [first, second, third] = places as [number, number, number];
  const isNear = (one: number, of: number): boolean =>
    places.every((place) => place === of || Math.abs(place - of) >= Math.abs(one - of));
  // Each has the hub that lies nearest to it.
  const beside = [second - 1, second + 1].filter((place) => isNear(second, place));
  const chains = await Promise.all(beside.map((place) => chainOf("t/large", `e${place}`)));
  for (const [i, chain] of chains.entries()) {
    expect(chain.slice(1)).toEqual([`e${second}`, `e${beside[i]!}`]);
    expect(chain[0]).toBe(chains[0]![0]);
    expect([`e${first}`, `e${third}`]).toContain(chain[0]);
  }
  // A hub's own cache is the one that stands before others.
  expect(await chainOf("t/large", `e${second}`)).toEqual(chains[0]!.slice(0, 2));
});

it("goes behind the nearest in a small domain, and alone where there is no other", async () => {
  expect(await chainOf("t/small", "e0")).toEqual(["e2", "e1", "e0"]);
  await add("t/alone", 1);
  expect(await chainOf("t/alone", "e0")).toEqual(["e0"]);
  expect(await agenda().item({ id: "gone", domain: "t/small" }, 2)).toBeNull();
});
