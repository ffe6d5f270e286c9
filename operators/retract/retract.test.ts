import { expect, it } from "vitest";
import { createRetract } from "./retract.ts";

const second = 1_000_000;

/** Instead of ClickHouse: the position, the newest version, and the keys rated badly. */
function clickhouseOf(state: { since: number; newest: number; bad: { key: string; version: number }[] }) {
  const asked: number[] = [];
  return {
    asked,
    query: <Row>(sql: string, parameters: Record<string, unknown> = {}) => {
      if (sql.includes("learn_positions")) return Promise.resolve([{ since: String(state.since) } as Row]);
      asked.push(Number(parameters.since));
      if (sql.includes("AS newest")) return Promise.resolve([{ newest: String(state.newest) } as Row]);
      return Promise.resolve(state.bad.map(({ key, version }) => ({ key, version: String(version) }) as Row));
    },
    insert: (_table: string, rows: readonly object[]) => {
      state.since = (rows[0] as { next_offset: number }).next_offset;
      return Promise.resolve();
    },
  };
}

it("takes back what was rated badly, once for each rating, and moves its position last", async () => {
  const now = 1_700_000_000 * second;
  const state = { since: 0, newest: now, bad: [{ key: "acme/default/h", version: now - second }] };
  const clickhouse = clickhouseOf(state);
  const published: string[][] = [];
  let fails = true;
  const retract = createRetract({
    clickhouse,
    publish: (keys) => {
      if (fails) return Promise.reject(new Error("away"));
      published.push([...keys]);
      return Promise.resolve();
    },
    ...{ longestTtlMs: 3_600_000, clock: () => now / 1_000 },
  });
  await expect(retract()).rejects.toThrow("away");
  expect(state.since).toBe(0);
  // What is older than any cache entry is not looked at.
  expect(clickhouse.asked[0]).toBe(now - 3_600 * second);
  fails = false;
  expect(await retract()).toEqual({ retracted: 1 });
  expect(state.since).toBe(now);
  // Within the look-back it is seen again, and was done.
  expect(await retract()).toEqual({ retracted: 0 });
  expect(clickhouse.asked.at(-1)).toBe(now - 60 * second);
  state.newest = now + second;
  state.bad = [{ key: "acme/default/h", version: now + second }];
  expect(await retract()).toEqual({ retracted: 1 });
  expect(published).toEqual([["acme/default/h"], ["acme/default/h"]]);
  state.newest = 0;
  expect(await retract()).toEqual({ retracted: 0 });
});
