import { expect, test } from "vitest";
import { figuresOf, type Part, type Round, type Stint } from "./figures.ts";
import { distinctFigures } from "./distinct.ts";
import { examplePairs } from "./history.ts";
import { bucketsOf } from "./plan-times.ts";

const stint = (requests: number, seconds: number, cpu: number, latencies = [1, 2, 3]): Stint => ({
  requests,
  seconds,
  latencies,
  cpuSeconds: { ours: { stages: 0.75 * cpu, vectors: 0.25 * cpu }, servers: { kafka: 2 * cpu, clickhouse: cpu / 2 } },
});
const both = (loop: Stint, floor: Stint): Round => ({ loop, floor, inline: loop, floorOne: floor });
const extras = { now: 300.25, peak: 400, examples: 3, questions: 2, distinct: {}, layouts: {} };

test("the ratio is of each round's own pair, the median over rounds; CPU is a request's", () => {
  const parts: Part[] = [
    {
      inFlight: 64,
      rounds: [
        both(stint(100, 1, 0.1), stint(200, 1, 0.1)),
        both(stint(90, 1, 0.09), stint(100, 1, 0.05)),
        both(stint(80, 1, 0.16), stint(100, 1, 0.05)),
      ],
    },
    { inFlight: 16, rounds: [both(stint(3, 1, 0.006), stint(3, 1, 0.003))], planMs: { select: 1 } },
    { inFlight: 1, rounds: [both(stint(3, 1, 0.003, [5, 7, 9]), stint(3, 1, 0.003))] },
  ];
  const { figures, reasons } = figuresOf(parts, extras);
  expect(figures).toMatchObject({
    throughput_per_s: 90,
    throughput_per_s_range: [80, 100],
    floor_throughput_per_s: 100,
    throughput_ratio: 0.8,
    throughput_ratio_range: [0.5, 0.9],
    cpu_ms_per_request: 1,
    cpu_ms_per_request_16: 2,
    cpu_ratio: 2,
    cpu_ms_by_process: { stages: 0.75, vectors: 0.25, kafka: 2, clickhouse: 0.5 },
    broker_cpu_ms_per_request: 2,
    p50_ms_1: 7,
    p50_ms_16: 2,
    inline: { throughput_per_s: 90, p50_ms_1: 7, cpu_ms_per_request: 1 },
    floor_one: { throughput_per_s: 100, broker_cpu_ms_per_request: 1 },
    ...{ inline_ratio: 1, inline_p50_ratio_16: 1, inline_p50_ratio_1: 3.5 },
    plan_ms: { select: 1 },
    rss_mib: 300.3,
  });
  expect(reasons).toEqual({});
});

test("distinct questions: each round beside the embedder of its own turn", () => {
  const round = (requests: number, texts: number) => ({
    loop: stint(requests, 1, 0.1),
    one: { texts: texts / 2, seconds: 2, cpuSeconds: 2 },
    all: { texts, seconds: 2, cpuSeconds: 4 },
  });
  const rounds = [round(100, 250), round(50, 200), round(80, 400)];
  expect(distinctFigures({ rounds, one: stint(3, 1, 0.01, [9, 10, 12]), workers: 2 })).toMatchObject({
    distinct: {
      throughput_per_s: 80,
      throughput_per_s_range: [50, 100],
      cpu_ms_per_request: 1.25,
      p50_ms_1: 10,
      p50_ms_64: 2,
      questions: 12,
      embedder: { workers: 2, throughput_per_s: 125, cpu_ms_per_text: 16 },
    },
    distinct_ratio: 0.5,
    distinct_ratio_range: [0.4, 0.8],
    distinct_ratio_one: 1,
  });
});

test("the quick form measures the queued pair alone, and says so", () => {
  const { loop, floor } = both(stint(100, 1, 0.1), stint(200, 1, 0.1));
  const { figures, reasons } = figuresOf([{ inFlight: 64, rounds: [{ loop, floor }] }], extras);
  expect(figures).toMatchObject({ throughput_ratio: 0.5, inline: { throughput_per_s: null }, inline_ratio: null });
  expect(reasons).toHaveProperty("inline_ratio");
});

test("what was not measured is null, with a reason", () => {
  const { figures, reasons } = figuresOf([], { ...extras, layouts: undefined });
  expect(figures).toMatchObject({ throughput_per_s: null, throughput_ratio: null, p50_ms_1: null, plan_ms: null });
  expect(Object.keys(reasons ?? {})).toEqual(
    expect.arrayContaining(["throughput_per_s", "p99_ms_16", "plan_ms", "layouts"]),
  );
});

test("example pairs are distinct and the same every time", () => {
  const samples = Array.from({ length: 10 }, (_, i) => ({ request: `do ${i}`, response: `cmd ${i}` }));
  const pairs = examplePairs(samples, 120);
  expect(new Set(pairs.map(({ request }) => request)).size).toBe(120);
  expect(pairs.slice(0, 10)).toEqual(samples);
  expect(examplePairs(samples, 120)).toEqual(pairs);
});

test("buckets of one operator are read from Prometheus' text", () => {
  const text = [
    "# HELP precedent_operator_seconds x",
    'precedent_operator_seconds_bucket{le="0.001",stage="plan",operator="compose"} 3',
    'precedent_operator_seconds_bucket{le="+Inf",stage="plan",operator="compose"} 4',
    'precedent_operator_seconds_bucket{le="0.001",stage="plan",operator="route"} 9',
    'precedent_operator_seconds_sum{stage="plan",operator="compose"} 1',
  ].join("\n");
  expect(bucketsOf(text, { stage: "plan", operator: "compose" })).toEqual([
    { atMost: 0.001, count: 3 },
    { atMost: Infinity, count: 4 },
  ]);
});
