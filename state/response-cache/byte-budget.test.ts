import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { expect, it } from "vitest";
import { configSchema } from "../../config/schema.ts";
import { fixedSplit } from "../../config/sections/memory.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { BYTE_BUDGET, encodeByteBudget, type ByteBudgetBody } from "../policies/byte-budget.ts";
import { firstCacheBytes, followCacheByteBudget } from "./byte-budget.ts";

const fixed: ByteBudgetBody = { responses: 100, examples: 100, caches: { small: 300 } };
const log = pino({ level: "silent" });
const recorded = (body: ByteBudgetBody) => ({
  ...{ name: BYTE_BUDGET, tenant: "default", version: 1, ...encodeByteBudget(body), reference: null, hash: null },
  ...{ feature_version: 0, metrics: {}, revert_of: null, trained_through: null, created_at: 1 },
});
const answering = (rows: () => unknown[]): Pick<ClickHouse, "query"> => ({
  query: <T>() => Promise.resolve(rows() as T[]),
});

it("opens an arm with what the newest version says, and else with what is configured", async () => {
  const split = { responses: 200, examples: 100, caches: { small: 200 } };
  const bytes = (rows: () => unknown[], arm = "small") =>
    firstCacheBytes({ arm, clickhouse: answering(rows), fixed, log });
  expect(await bytes(() => [recorded(split)])).toBe(200);
  expect(await bytes(() => [])).toBe(300);
  // For other bytes in all.
  expect(await bytes(() => [recorded({ ...split, responses: 0 })])).toBe(300);
  const away = (): never => {
    throw new Error("away");
  };
  expect(await bytes(away)).toBe(300);
  expect(await bytes(away, "other")).toBeUndefined();
});

it("resizes once for a version, and not for what is in force", async () => {
  const resized: number[] = [];
  const arm = { resizeCaches: (bytes: number) => Promise.resolve(void resized.push(bytes)) };
  const follow = async (first: number): Promise<void> => {
    const rows = () => [recorded({ responses: 200, examples: 100, caches: { small: 200 } })];
    const following = followCacheByteBudget(arm, { arm: "small", clickhouse: answering(rows), fixed, log, first });
    await sleep(20);
    await following.stop();
  };
  await follow(200);
  expect(resized).toEqual([]);
  await follow(300);
  expect(resized).toEqual([200]);
});

it("shares the bytes of llama arms that link, where the configuration says so, and of no others", () => {
  const arms = [
    { name: "a", type: "llama", linked: { diskBytes: 7 } },
    { name: "b", type: "llama", linked: { policy: "full" } },
    { name: "c", type: "reuse" },
  ];
  const split = (memory: object) => fixedSplit(configSchema.parse({ arms, memory })).caches;
  expect(split({})).toEqual({});
  expect(split({ byteBudget: "learnt" })).toEqual({});
  expect(split({ byteBudget: "fixed", caches: true })).toEqual({});
  expect(split({ byteBudget: "learnt", caches: true })).toEqual({ a: 7 });
});
