// From the stints of the loop benchmark to its figures, by the names of the specification. Pure.
import type { Measured } from "../benchmark.ts";
import { median, quantile, significant, spread } from "../support/statistics.ts";

/** One load on the loop or on the floor. */
export interface Stint {
  requests: number;
  seconds: number;
  /** Milliseconds. */
  latencies: number[];
  /** By process: of ours, with what they started, and of the stack's servers. */
  cpuSeconds: { ours: Record<string, number>; servers: Record<string, number> };
}
/** loop: queued arms, and floor: its two hops; inline: inline arms, and floorOne: their one hop. */
export type SystemName = "loop" | "floor" | "inline" | "floorOne";
/** The quick form measures the first two alone. */
export type Round = Readonly<Record<"loop" | "floor", Stint> & Partial<Record<SystemName, Stint>>>;
export interface Part {
  inFlight: number;
  rounds: Round[];
  planMs?: Record<string, number | null>;
}

/** The loop in other processes (layouts.ts). */
export interface LayoutFigures {
  throughput_per_s: number;
  cpu_ms_per_request: number;
  cpu_ms_by_process: Record<string, number>;
  /** Requests that had their response and their row; one that lacks either ends the benchmark. */
  answered: number;
}

export interface Extras {
  /** MiB. */
  now: number;
  peak: number;
  examples: number;
  questions: number;
  /** Figures of distinct.ts. */
  distinct: Record<string, unknown>;
  /** Figures of the same loop in other processes; only measured by the full form. */
  layouts?: Record<string, LayoutFigures> | undefined;
}

const stintsOf = (part: Part | undefined, which: SystemName): Stint[] =>
  (part?.rounds ?? []).flatMap(({ [which]: stint }) => stint ?? []);
const throughput = ({ requests, seconds }: Stint): number => requests / seconds;
const all = (part: Part | undefined, which: SystemName): number[] =>
  stintsOf(part, which).flatMap(({ latencies }) => latencies);
/** CPU milliseconds a request of all processes of ours together. */
export const ourCpuMs = ({ requests, cpuSeconds: { ours } }: Stint): number =>
  (1000 * Object.values(ours).reduce((sum, seconds) => sum + seconds, 0)) / requests;
/** The same, or that of one server, in each round. */
const cpuMs = (part: Part | undefined, which: SystemName, server?: string): number[] =>
  stintsOf(part, which).map((stint) =>
    server === undefined ? ourCpuMs(stint) : (1000 * (stint.cpuSeconds.servers[server] ?? Number.NaN)) / stint.requests,
  );

/** CPU milliseconds a request of each process, the median over rounds. */
export function cpuByProcess(stints: readonly Stint[]): Record<string, number> {
  const names = new Set(stints.flatMap(({ cpuSeconds: { ours, servers } }) => Object.keys({ ...ours, ...servers })));
  const of = (name: string): number =>
    median(
      stints.map(
        ({ cpuSeconds: { ours, servers }, requests }) => (1000 * (ours[name] ?? servers[name] ?? 0)) / requests,
      ),
    );
  return Object.fromEntries([...names].map((name) => [name, significant(of(name), 3)]));
}

/** Rounded; null, with a reason, where nothing was measured. */
type Figure = (name: string, values: readonly number[], of: (values: readonly number[]) => number) => number | null;

export function figuresOf(parts: readonly Part[], extras: Extras): Measured {
  const at = (inFlight: number): Part | undefined => parts.find((part) => part.inFlight === inFlight);
  const [one, sixteen, sixtyFour] = [at(1), at(16), at(64)];
  const rounds = sixtyFour?.rounds ?? [];
  const reasons: Record<string, string> = {};
  const figure: Figure = (name, values, of) => {
    const finite = values.filter(Number.isFinite);
    if (finite.length > 0) return significant(of(finite));
    reasons[name] = "not measured at this number in flight (the quick form measures queued arms and their floor alone)";
    return null;
  };
  const range = (values: readonly number[]): [number, number] | null => {
    const finite = values.filter(Number.isFinite);
    if (finite.length === 0) return null;
    const { minimum, maximum } = spread(finite);
    return [significant(minimum), significant(maximum)];
  };
  const middle = (name: string, values: readonly number[]) => figure(name, values, median);
  const at99 = (values: readonly number[]) => quantile(values, 0.99);
  const real = rounds.map((round) => throughput(round.loop));
  const floor = rounds.map((round) => throughput(round.floor));
  const ratios = rounds.map((round) => throughput(round.loop) / throughput(round.floor));
  const planMs = sixteen?.planMs ?? null;
  if (planMs === null) reasons.plan_ms = "nothing was measured at 16 in flight";

  const figures = {
    ...extras.distinct,
    throughput_per_s: middle("throughput_per_s", real),
    throughput_per_s_range: range(real),
    floor_throughput_per_s: middle("floor_throughput_per_s", floor),
    floor_throughput_per_s_range: range(floor),
    throughput_ratio: middle("throughput_ratio", ratios),
    throughput_ratio_range: range(ratios),
    p50_ms_1: middle("p50_ms_1", all(one, "loop")),
    p50_ms_16: middle("p50_ms_16", all(sixteen, "loop")),
    p99_ms_16: figure("p99_ms_16", all(sixteen, "loop"), at99),
    p50_ms_64: middle("p50_ms_64", all(sixtyFour, "loop")),
    p99_ms_64: figure("p99_ms_64", all(sixtyFour, "loop"), at99),
    floor_p50_ms_1: middle("floor_p50_ms_1", all(one, "floor")),
    floor_p50_ms_16: middle("floor_p50_ms_16", all(sixteen, "floor")),
    floor_p50_ms_64: middle("floor_p50_ms_64", all(sixtyFour, "floor")),
    cpu_ms_per_request: middle("cpu_ms_per_request", cpuMs(sixtyFour, "loop")),
    cpu_ms_per_request_range: range(cpuMs(sixtyFour, "loop")),
    cpu_ms_per_request_16: middle("cpu_ms_per_request_16", cpuMs(sixteen, "loop")),
    cpu_ms_by_process: rounds.length === 0 ? null : cpuByProcess(rounds.map((round) => round.loop)),
    cpu_ratio: middle(
      "cpu_ratio",
      cpuMs(sixtyFour, "loop").map((ms, round) => ms / cpuMs(sixtyFour, "floor")[round]!),
    ),
    floor_cpu_ms_per_request: middle("floor_cpu_ms_per_request", cpuMs(sixtyFour, "floor")),
    broker_cpu_ms_per_request: middle("broker_cpu_ms_per_request", cpuMs(sixtyFour, "loop", "kafka")),
    floor_broker_cpu_ms_per_request: middle("floor_broker_cpu_ms_per_request", cpuMs(sixtyFour, "floor", "kafka")),
    clickhouse_cpu_ms_per_request: middle("clickhouse_cpu_ms_per_request", cpuMs(sixtyFour, "loop", "clickhouse")),
    ...inlineFigures(figure, { one, sixteen, sixtyFour }),
    plan_ms: planMs,
    rss_mib: significant(extras.now),
    rss_peak_mib: significant(extras.peak),
    requests: parts.reduce((sum, part) => sum + all(part, "loop").length, 0),
    rounds: Object.fromEntries(parts.map((part) => [part.inFlight, part.rounds.length])),
    examples: extras.examples,
    questions: extras.questions,
    layouts: extras.layouts ?? null,
  };
  if (extras.layouts === undefined) reasons.layouts = "only the full form starts the loop in other processes";
  return { figures, reasons };
}

/** Inline arms beside queued ones, and beside the floor of two hops; and the floor of one hop. */
function inlineFigures(
  figure: Figure,
  { one, sixteen, sixtyFour }: Readonly<Record<"one" | "sixteen" | "sixtyFour", Part | undefined>>,
): Record<string, unknown> {
  const measured = (part: Part | undefined): Required<Round>[] =>
    (part?.rounds ?? []).flatMap(({ inline, floorOne, ...pair }) =>
      inline === undefined || floorOne === undefined ? [] : [{ ...pair, inline, floorOne }],
    );
  const rounds = measured(sixtyFour);
  const p99 = (values: readonly number[]): number => quantile(values, 0.99);
  const beside = (name: string, part: Part | undefined): number | null =>
    figure(
      name,
      measured(part).map(({ inline, floor }) => median(inline.latencies) / median(floor.latencies)),
      median,
    );
  const of = (name: string, which: "inline" | "floorOne") => ({
    throughput_per_s: figure(
      name,
      rounds.map((round) => throughput(round[which])),
      median,
    ),
    p50_ms_1: figure(name, all(one, which), median),
    p50_ms_16: figure(name, all(sixteen, which), median),
    p99_ms_16: figure(name, all(sixteen, which), p99),
    p50_ms_64: figure(name, all(sixtyFour, which), median),
    cpu_ms_per_request: figure(name, cpuMs(sixtyFour, which), median),
    broker_cpu_ms_per_request: figure(name, cpuMs(sixtyFour, which, "kafka"), median),
  });
  return {
    inline: of("inline", "inline"),
    floor_one: of("floor_one", "floorOne"),
    inline_ratio: figure(
      "inline_ratio",
      rounds.map(({ inline, loop }) => throughput(inline) / throughput(loop)),
      median,
    ),
    inline_p50_ratio_16: beside("inline_p50_ratio_16", sixteen),
    inline_p50_ratio_1: beside("inline_p50_ratio_1", one),
  };
}
