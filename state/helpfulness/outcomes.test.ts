import { pino } from "pino";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { followOutcomes } from "./outcomes.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it("keeps what it read last while ClickHouse is away, says so once, and reads again every minute", async () => {
  const lines: string[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
  let uses = 1;
  let isAway = false;
  let asked = 0;
  const clickhouse = {
    query: <Row>(_sql: string, parameters?: Record<string, unknown>): Promise<Row[]> => {
      asked++;
      expect(parameters).toEqual({ limit: 100_000 });
      return isAway ? Promise.reject(new Error("away")) : Promise.resolve([{ id: "a", uses, outcome: 0.5 }] as Row[]);
    },
  };
  const outcomes = followOutcomes(clickhouse, log);
  expect(outcomes.of("a")).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  expect(outcomes.of("a")).toEqual({ uses: 1, outcome: 0.5 });
  expect(outcomes.of("b")).toBeUndefined();

  isAway = true;
  await vi.advanceTimersByTimeAsync(180_000);
  expect(asked).toBe(4);
  expect(outcomes.of("a")).toEqual({ uses: 1, outcome: 0.5 });
  expect(lines.filter((line) => line.includes("grow old"))).toHaveLength(1);

  isAway = false;
  uses = 2;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(outcomes.of("a")).toEqual({ uses: 2, outcome: 0.5 });
  expect(lines.filter((line) => line.includes("fresh again"))).toHaveLength(1);
  outcomes.stop();
  await vi.advanceTimersByTimeAsync(180_000);
  expect(asked).toBe(5);
});
