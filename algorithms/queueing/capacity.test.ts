import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { capacityFor, stageLoad, type StageTimes } from "./capacity.ts";
import { splitmix64 } from "../numeric/random.ts";
import { simulateStage } from "./stage-simulation.testing.ts";

/** As measured: docs/design/delivery.md, What a larger cluster costs. */
const plan: StageTimes = { transactionMs: 1.7, commitMs: 2.5, recordMs: 0.43 };
const generate: StageTimes = { transactionMs: 1.7, commitMs: 2.5, recordMs: 0.09 };
const empty: StageTimes = { transactionMs: 1.7, commitMs: 2.5, recordMs: 0.03 };

const servers = { brokerTransactionMs: 3.2, brokerRequestMs: 0.37, clickhouseRequestMs: 0.27 };
const planned = { utilisation: 0.5, coresPerServer: 16, replication: 3 };

describe("formulas beside a simulation of the same service times", () => {
  test.each([
    ["plan", plan],
    ["generate", generate],
    ["an empty stage", empty],
  ])("%s, from an idle thread to a busy one", (_, times) => {
    for (const share of [0.02, 0.1, 0.3, 0.5]) {
      const rate = (1_000 * share) / times.recordMs;
      const said = stageLoad(times, rate);
      const seen = simulateStage(times, rate, { records: 20_000, random: splitmix64(7) });
      const within = (name: keyof typeof said, off: number): void =>
        expect(Math.abs(said[name] / seen[name] - 1), `${name} at ${rate}/s`).toBeLessThan(off);
      within("cpuMs", 0.1);
      within("utilisation", 0.1);
      within("latencyMs", 0.15);
      within("batch", 0.25);
    }
  });
});

describe("a stage", () => {
  test("has transactions of one record when it is idle, larger ones and less CPU a record the more comes", () => {
    expect(stageLoad(plan, 0.001).batch).toBeCloseTo(1, 3);
    expect(stageLoad(plan, 0.001).latencyMs).toBeCloseTo(1.7 + 2.5 + 0.43, 1);
    const loads = [1, 10, 100, 500, 1_000, 2_000].map((rate) => stageLoad(plan, rate));
    for (let i = 1; i < loads.length; i++) {
      expect(loads[i]!.batch).toBeGreaterThan(loads[i - 1]!.batch);
      expect(loads[i]!.cpuMs).toBeLessThan(loads[i - 1]!.cpuMs);
      expect(loads[i]!.latencyMs).toBeGreaterThan(loads[i - 1]!.latencyMs);
    }
  });

  test("says when it can't keep up", () => {
    expect(stageLoad(plan, 2_400)).toMatchObject({ latencyMs: Infinity, utilisation: 1 });
  });
});

describe("what a rate needs", () => {
  test("one process a stage and the least of everything where little comes", () => {
    const needs = capacityFor(10, [plan, generate], servers, planned);
    expect(needs).toMatchObject({ processes: [1, 1], partitions: 8, brokers: 3, clickhouse: 1 });
  });

  test("grows with the rate, no process and no server beyond what is planned with, a partition for each process", () => {
    for (const rate of [10, 1_000, 100_000]) {
      const { processes, partitions, brokers, clickhouse, cores } = capacityFor(
        rate,
        [plan, generate],
        servers,
        planned,
      );
      [plan, generate].forEach(({ recordMs }, i) =>
        expect((rate * recordMs) / 1_000 / processes[i]!).toBeLessThanOrEqual(planned.utilisation),
      );
      expect(partitions).toBeGreaterThanOrEqual(Math.max(...processes));
      expect(cores.brokers).toBeLessThanOrEqual(brokers * planned.coresPerServer * planned.utilisation);
      expect(cores.clickhouse).toBeLessThanOrEqual(clickhouse * planned.coresPerServer * planned.utilisation);
    }
  });
});

test("docs/design/delivery.md says what the formulas say", () => {
  const text = readFileSync(new URL("../../docs/design/delivery.md", import.meta.url), "utf8");
  const table = text.slice(text.indexOf("<!-- capacity:")).split("\n## ")[0] ?? "";
  const rows = [...table.matchAll(/^\| ([\d,]+) .*$/gm)].map(([line]) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  expect(rows.map(([rate]) => rate)).toEqual(["10", "1,000", "100,000"]);
  for (const [rate = "", ...cells] of rows) {
    const needs = capacityFor(Number(rate.replace(",", "")), [plan, generate], servers, planned);
    const { processes, partitions, brokers, clickhouse, latencyMs, cores } = needs;
    const cpus = [cores.stages, cores.brokers, cores.clickhouse];
    expect(cells).toEqual([
      ...[...processes, partitions, brokers, clickhouse, Math.round(latencyMs)].map(String),
      cpus.map((cpu) => (cpu < 100 ? cpu.toFixed(1) : cpu.toFixed(0))).join(", "),
    ]);
  }
});
