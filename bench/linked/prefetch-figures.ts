// What was measured of prefetch to rows: without and with it, by workload and by where the files of
// the caches lay. Pure.
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { pairedBootstrap } from "../support/bootstrap.ts";
import { mean, median, quantile, significant } from "../support/statistics.ts";
import type { Files, PrefetchAsked, Streamed, StreamPlan } from "./prefetch.ts";

export interface PrefetchRow {
  workload: string;
  policy: string;
  files: Files;
  prefetch: boolean;
  /** Requests answered, all rounds together. */
  n: number;
  /** Share of the caches read that were found in memory. */
  in_memory: number;
  loading_ms: number;
  loading_p90_ms: number;
  ttft_ms: number;
  ttft_p90_ms: number;
  ttft_cpu_ms: number;
  /** Whole process, a request. */
  cpu_ms: number;
  wall_ms: number;
  /**
   * Time to the first token less that of the same request without prefetch, mean and 95 %; null:
   * without.
   */
  ttft_difference: number | null;
  ttft_low: number | null;
  ttft_high: number | null;
}

export function prefetchRows(
  { workload, policy }: Pick<StreamPlan, "workload" | "policy">,
  { asked, rounds }: Streamed,
): PrefetchRow[] {
  const places = [...new Set(rounds.map(({ files }) => files))];
  return places.flatMap((files) =>
    [false, true].map((prefetch): PrefetchRow => {
      const own = asked.filter((one) => one.files === files && one.prefetch === prefetch);
      const turns = rounds.filter((one) => one.files === files && one.prefetch === prefetch);
      const of = (value: (one: PrefetchAsked) => number): number[] => own.map(value);
      const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
      const against = prefetch ? differenceOf(own, asked) : null;
      return {
        ...{ workload, policy, files, prefetch, n: own.length },
        in_memory: significant(sum(of(({ inMemory }) => inMemory)) / sum(of(({ read }) => read))),
        loading_ms: significant(median(of(({ loadingMs }) => loadingMs))),
        loading_p90_ms: significant(
          quantile(
            of(({ loadingMs }) => loadingMs),
            0.9,
          ),
        ),
        ttft_ms: significant(median(of(({ ttftMs }) => ttftMs))),
        ttft_p90_ms: significant(
          quantile(
            of(({ ttftMs }) => ttftMs),
            0.9,
          ),
        ),
        ttft_cpu_ms: significant(median(of(({ ttftCpuMs }) => ttftCpuMs))),
        cpu_ms: significant(mean(turns.map(({ cpuMs }) => cpuMs))),
        wall_ms: significant(mean(turns.map(({ wallMs }) => wallMs))),
        ttft_difference: against === null ? null : significant(against.difference),
        ttft_low: against === null ? null : significant(against.low),
        ttft_high: against === null ? null : significant(against.high),
      };
    }),
  );
}

/**
 * Differences between requests with prefetch and the same requests without, in the same pair of
 * rounds.
 */
function differenceOf(own: readonly PrefetchAsked[], asked: readonly PrefetchAsked[]) {
  const name = ({ request, pair, files }: PrefetchAsked): string => `${request} ${pair} ${files}`;
  const without = new Map(asked.filter(({ prefetch }) => !prefetch).map((one) => [name(one), one.ttftMs]));
  const pairs = own.flatMap((one) => {
    const other = without.get(name(one));
    return other === undefined ? [] : [{ with: one.ttftMs, without: other }];
  });
  return pairedBootstrap(
    pairs.map((one) => one.with),
    pairs.map((one) => one.without),
    { random: splitmix64(7), resamples: 2_000 },
  );
}
