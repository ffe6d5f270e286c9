// From the turns of the gateway benchmark to its figures, by the names of the specification. Pure.
import type { Measured } from "../benchmark.ts";
import { median, quantile, significant, spread } from "../support/statistics.ts";

export const systemNames = ["direct", "ours", "litellm", "portkey"] as const;
export type SystemName = (typeof systemNames)[number];

/** One load on one system. */
export interface Turn {
  seconds: number;
  latencies: number[];
  firstTokens: number[];
  /** By process; none of the direct one, which has no process in between. */
  cpuSeconds: Record<string, number>;
}

/** The systems of a round have met the same load one after the other; a peer may be absent. */
export type Round = { direct: Turn; ours: Turn } & Partial<Record<SystemName, Turn>>;

export interface Part {
  inFlight: number;
  stream: boolean;
  rounds: Round[];
}

type Reasons = Partial<Record<SystemName, string>>;

/** null: nothing was measured. */
const middle = (values: readonly number[]): number | null => (values.length === 0 ? null : significant(median(values)));

/** absent: why a system was not measured; failed: why one was not measured under some loads. */
export function figuresOf(parts: readonly Part[], absent: Reasons, failed: Reasons): Measured {
  const reasons: Record<string, string> = {};
  const rounds = (inFlight: number, stream = false): Round[] =>
    parts.find((part) => part.inFlight === inFlight && part.stream === stream)?.rounds ?? [];
  const figures: Record<string, unknown> = {};
  for (const name of systemNames) {
    const why = absent[name];
    if (why === undefined) {
      const own = systemFigures(name, rounds);
      figures[name] = own;
      for (const [figure, value] of Object.entries(own))
        if (value === null)
          reasons[`${name}.${figure}`] =
            name === "direct" ? "no process stands between client and model" : (failed[name] ?? "not measured");
      continue;
    }
    figures[name] = null;
    reasons[name] = why;
  }
  for (const peer of ["litellm", "portkey"] as const) {
    const ratios = rounds(64).map(({ ours, [peer]: other }) => (other === undefined ? null : rate(ours) / rate(other)));
    const known = ratios.filter((ratio) => ratio !== null);
    figures[`ratio_${peer}`] = middle(known);
    if (known.length > 0) figures[`ratio_${peer}_range`] = range(known);
    else reasons[`ratio_${peer}`] = absent[peer] ?? failed[peer] ?? "not measured";
  }
  return { figures: { ...figures, rounds_64: rounds(64).length }, reasons };
}

const rate = ({ latencies, seconds }: Turn): number => latencies.length / seconds;

function range(values: readonly number[]): [number, number] | null {
  if (values.length === 0) return null;
  const { minimum, maximum } = spread(values);
  return [significant(minimum), significant(maximum)];
}

function systemFigures(name: SystemName, rounds: (inFlight: number, stream?: boolean) => Round[]) {
  const turns = (of: readonly Round[]): Turn[] => of.flatMap((round) => round[name] ?? []);
  const each = (of: readonly Round[], value: (turn: Turn) => number) => middle(turns(of).map(value));
  /** Beyond the direct call of the same round. */
  const added = (of: readonly Round[], value: (turn: Turn) => number) =>
    middle(of.flatMap((round) => (round[name] === undefined ? [] : value(round[name]) - value(round.direct))));
  const p50 = ({ latencies }: Turn): number => median(latencies);
  const p99 = ({ latencies }: Turn): number => quantile(latencies, 0.99);
  const first = ({ firstTokens }: Turn): number => median(firstTokens);
  const [one, sixteen, most] = [rounds(1), rounds(16), rounds(64)];
  const loaded = turns(most);
  const perRequest = ({ cpuSeconds, latencies }: Turn, process: string): number =>
    (1_000 * (cpuSeconds[process] ?? 0)) / latencies.length;
  const processes = [...new Set(loaded.flatMap(({ cpuSeconds }) => Object.keys(cpuSeconds)))];
  return {
    added_p50_ms_1: added(one, p50),
    added_p50_ms_16: added(sixteen, p50),
    added_p99_ms_16: added(sixteen, p99),
    requests_per_s_64: each(most, rate),
    requests_per_s_64_range: range(loaded.map(rate)),
    cpu_ms_per_request:
      processes.length === 0
        ? null
        : each(most, (turn) => processes.reduce((sum, process) => sum + perRequest(turn, process), 0)),
    cpu_ms_by_process: Object.fromEntries(
      processes.map((process) => [process, each(most, (turn) => perRequest(turn, process))]),
    ),
    first_token_ms: each(rounds(1, true), first),
    added_first_token_ms: added(rounds(1, true), first),
    first_token_ms_16: each(rounds(16, true), first),
    p50_ms_1: each(one, p50),
    p50_ms_16: each(sixteen, p50),
    p99_ms_16: each(sixteen, p99),
    requests: [one, sixteen, most, rounds(1, true), rounds(16, true)]
      .flatMap(turns)
      .reduce((sum, { latencies }) => sum + latencies.length, 0),
  };
}
