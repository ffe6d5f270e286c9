import { pino } from "pino";
import { expect, it } from "vitest";
import type { Cached } from "../../arms/arm.ts";
import { createForgetGone } from "./gone-caches.ts";

function anArm(...held: string[]) {
  const forgotten: string[] = [];
  const caches = {
    cached: async () => ({ examples: held.filter((id) => !forgotten.includes(id)), documents: ["acme/d", "acme/e"] }),
    forget: async ({ examples, documents }: Cached) => forgotten.push(...examples, ...documents),
  };
  return { name: "linked", forgotten, caches };
}
const log = pino({ level: "silent" });
/** What ClickHouse has of examples: whether they are gone; those are its newest rows. */
const clickhouse = (rows: Record<string, boolean>, asked: number[] = []) => ({
  query: async <Row>(_sql: string, parameters: Readonly<Record<string, unknown>> = {}) => {
    const ids = parameters["ids"] as string[] | undefined;
    if (ids === undefined) return Object.keys(rows).flatMap((id) => (rows[id] === true ? [{ id }] : [])) as Row[];
    asked.push(ids.length);
    return ids.filter((id) => id in rows).map((id) => ({ id, gone: rows[id] })) as Row[];
  },
});

it("removes the caches of what is no example any more, and of nothing else", async () => {
  const arm = anArm("evicted", "live", "new");
  const pass = createForgetGone({ arm, clickhouse: clickhouse({ evicted: true, live: false }), clock: () => 0, log });
  expect(await pass()).toBe(1);
  expect(await pass()).toBe(0);
  expect(arm.forgotten).toEqual(["evicted"]);
});

it("removes what ClickHouse does not know for long: an erased example leaves no row", async () => {
  let now = 0;
  const rows: Record<string, boolean> = {};
  const arm = anArm("erased", "late");
  const pass = createForgetGone({ arm, clickhouse: clickhouse(rows), clock: () => now, log });
  /** The next that asks for all. */
  const wholePass = async () => {
    for (let i = 1; i < 20; i++) expect(await pass()).toBe(0);
    return pass();
  };
  await pass();
  now = 599_000;
  rows["late"] = false;
  expect(await wholePass()).toBe(0);
  now = 600_000;
  expect(await wholePass()).toBe(1);
  expect(arm.forgotten).toEqual(["erased"]);
});

it("removes what was deleted at the next pass, though few passes ask for all", async () => {
  const rows: Record<string, boolean> = { a: false, b: false };
  const asked: number[] = [];
  const arm = anArm("a", "b");
  const pass = createForgetGone({ arm, clickhouse: clickhouse(rows, asked), clock: () => 0, log });
  expect(await pass()).toBe(0);
  rows["b"] = true;
  rows["of another arm"] = true;
  expect(await pass()).toBe(1);
  expect(arm.forgotten).toEqual(["b"]);
  expect(asked).toEqual([2]);
});

it("asks for a bounded number at once", async () => {
  const asked: number[] = [];
  const ids = Array.from({ length: 1_100 }, (_, i) => String(i));
  const clean = clickhouse({}, asked);
  await createForgetGone({ arm: anArm(...ids), clickhouse: clean, clock: () => 0, log })();
  expect(asked).toEqual([500, 500, 100]);
});

it("removes the caches of documents that are not on the topic, once the topic is known, while ClickHouse is away", async () => {
  const arm = anArm("live");
  let known: readonly string[] | null = null;
  const documents = {
    gone: (pieces: readonly string[]) => known && pieces.filter((piece) => known?.includes(piece) !== true),
  };
  const away = { query: () => Promise.reject(new Error("away")) };
  const pass = createForgetGone({ arm, documents, clickhouse: away, clock: () => 0, log });
  await expect(pass()).rejects.toThrow("away");
  expect(arm.forgotten).toEqual([]);
  known = ["acme/e"];
  await expect(pass()).rejects.toThrow("away");
  expect(arm.forgotten).toEqual(["acme/d"]);
});
