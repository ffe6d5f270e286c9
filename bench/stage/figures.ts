// From the turns of the stage benchmark to its figures, by the names of the specification. Pure.
import type { Measured } from "../benchmark.ts";
import { median, quantile, significant, spread } from "../support/statistics.ts";
import type { SystemName } from "./systems.ts";

/** One backlog on one stage. */
export interface Turn {
  records: number;
  seconds: number;
  cpuSeconds: { stage: number; broker: number };
}

/** One stage at one rate. */
export interface Pace {
  rate: number;
  latencies: number[];
  cpuSeconds: { stage: number; broker: number };
}

export interface Stage {
  turns: Turn[];
  paces: Pace[];
}

/**
 * Whether a stage kept up: late ones wait hardly longer than early ones. What falls behind grows by
 * the share of the time that it lacks.
 */
export function sustained(latencies: readonly number[]): boolean {
  const quarter = Math.floor(latencies.length / 4);
  if (quarter === 0) return false;
  return median(latencies.slice(-quarter)) - median(latencies.slice(quarter, 2 * quarter)) < 100;
}

const perCpuSecond = ({ records, cpuSeconds }: Turn): number => records / cpuSeconds.stage;

function figuresOfStage({ turns, paces }: Stage, rate: number | undefined) {
  const at = paces.filter((pace) => pace.rate === rate);
  const latencies = at.flatMap((pace) => pace.latencies);
  const each = (of: (turn: Turn) => number): number => significant(median(turns.map(of)));
  return {
    records_per_s: each(({ records, seconds }) => records / seconds),
    cpu_us_per_record: each(({ records, cpuSeconds }) => (1e6 * cpuSeconds.stage) / records),
    broker_cpu_us_per_record: each(({ records, cpuSeconds }) => (1e6 * cpuSeconds.broker) / records),
    p50_ms: latencies.length === 0 ? null : significant(median(latencies)),
    p99_ms: latencies.length === 0 ? null : significant(quantile(latencies, 0.99)),
    cpu_us_per_record_at_rate:
      latencies.length === 0
        ? null
        : significant(median(at.map(({ cpuSeconds, latencies: { length } }) => (1e6 * cpuSeconds.stage) / length))),
  };
}

/** rate: the highest one of those tried that all stages sustained. */
export function figuresOf(stages: Readonly<Record<SystemName, Stage>>, rate: number | undefined): Measured {
  const { ours, streams, plain } = stages;
  const beside = (other: Stage): number[] =>
    ours.turns.map((turn, round) => perCpuSecond(turn) / perCpuSecond(other.turns[round]!));
  const range = (values: readonly number[]): [number, number] => {
    const { minimum, maximum } = spread(values);
    return [significant(minimum), significant(maximum)];
  };
  const reasons: Record<string, string> = {};
  if (rate === undefined)
    for (const name of ["ours", "streams", "plain", "rate_per_s"])
      for (const figure of name === "rate_per_s" ? [name] : [`${name}.p50_ms`, `${name}.p99_ms`])
        reasons[figure] = "no rate that was tried is sustained by all three";
  return {
    figures: {
      ours: figuresOfStage(ours, rate),
      streams: figuresOfStage(streams, rate),
      plain: figuresOfStage(plain, rate),
      per_cpu_ratio: significant(median(beside(streams))),
      per_cpu_ratio_range: range(beside(streams)),
      per_cpu_ratio_plain: significant(median(beside(plain))),
      rate_per_s: rate ?? null,
      records: ours.turns.reduce((sum, { records }) => sum + records, 0),
      rounds: ours.turns.length,
    },
    reasons,
  };
}
