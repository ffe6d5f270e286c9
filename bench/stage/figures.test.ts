import { describe, expect, test } from "vitest";
import { outcomeOf } from "./check.ts";
import { figuresOf, sustained, type Stage } from "./figures.ts";
import { kafkaVersion } from "./streams.ts";

const stage = (cpu: number, latencies: number[]): Stage => ({
  turns: [
    { records: 1_000, seconds: 0.5, cpuSeconds: { stage: cpu, broker: 0.2 } },
    { records: 1_000, seconds: 0.25, cpuSeconds: { stage: cpu, broker: 0.2 } },
  ],
  paces: [
    { rate: 5_000, latencies: [1_000, 2_000], cpuSeconds: { stage: 1, broker: 1 } },
    { rate: 1_000, latencies, cpuSeconds: { stage: 0.002, broker: 1 } },
  ],
});

describe("figures of the stage benchmark", () => {
  const stages = { ours: stage(0.1, [10, 20, 30]), streams: stage(0.04, [1, 2, 3]), plain: stage(0.2, [5, 6, 7]) };

  test("records a CPU second beside Kafka Streams, and latencies at the rate that all sustained alone", () => {
    const { figures, reasons } = figuresOf(stages, 1_000);
    expect(figures).toMatchObject({
      ours: { records_per_s: 3_000, cpu_us_per_record: 100, broker_cpu_us_per_record: 200, p50_ms: 20, p99_ms: 29.8 },
      streams: { cpu_us_per_record: 40, p50_ms: 2 },
      per_cpu_ratio: 0.4,
      per_cpu_ratio_plain: 2,
      rate_per_s: 1_000,
    });
    expect(reasons).toEqual({});
  });

  test("without such a rate latencies are null, with the reason", () => {
    const { figures, reasons } = figuresOf(stages, undefined);
    expect(figures).toMatchObject({ ours: { p50_ms: null, p99_ms: null, records_per_s: 3_000 }, rate_per_s: null });
    expect(reasons?.["streams.p99_ms"]).toMatch(/no rate/);
  });
});

test("a stage that falls behind does not sustain a rate, however slow it is", () => {
  const slow = Array.from({ length: 400 }, (_, i) => 800 + (i % 7));
  const behind = Array.from({ length: 400 }, (_, i) => 20 + i);
  expect(sustained(slow)).toBe(true);
  expect(sustained(behind)).toBe(false);
  expect(sustained([])).toBe(false);
});

test("counts what is lost and what is doubled", () => {
  expect(outcomeOf([1, 0, 1, 3, 2])).toEqual({ lost: 1, doubled: 3 });
});

test("builds the version that the stack pins, and says when there is none", () => {
  expect(kafkaVersion("<x><kafka.version>4.2.2</kafka.version></x>")).toBe("4.2.2");
  expect(() => kafkaVersion("<x/>")).toThrow("stack/pom.xml");
});
