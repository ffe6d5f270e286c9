// The figures of `bench -- faults` from what its stints gave. Pure.
import type { Outcome } from "../../test/faults/support/checks.ts";
import type { Recovery } from "../../test/faults/support/recovery.ts";
import type { Figures } from "../benchmark.ts";
import { quantile } from "../support/statistics.ts";

/** Some kills on one stack, and what held at their end. */
export interface Stint {
  recoveries: readonly Recovery[];
  outcome: Outcome;
}

export function figuresOf(stints: readonly Stint[]): Figures {
  const recoveries = stints.flatMap((stint) => stint.recoveries);
  const sum = (of: (outcome: Outcome) => number): number =>
    stints.reduce((total, { outcome }) => total + of(outcome), 0);
  // One that never came back took at least as long as the longest: it must not make the figures
  // look better.
  const times = recoveries.map(({ recovery_s }) => recovery_s ?? Infinity);
  const at = (q: number): number | null => {
    const value = times.length === 0 ? Infinity : quantile(times, q);
    return Number.isFinite(value) ? value : null;
  };
  return {
    kills: recoveries.length,
    stalls: recoveries.filter(({ stalled }) => stalled).length,
    lost: sum(({ lost }) => lost),
    doubled: sum(({ doubled }) => doubled),
    recovery_p50_s: at(0.5),
    recovery_max_s: at(1),
    requests: sum(({ issued }) => issued),
    violations: stints.flatMap(({ outcome }) => outcome.violations),
    restart_p50_s:
      recoveries.length === 0
        ? null
        : quantile(
            recoveries.map(({ lasted_s }) => lasted_s),
            0.5,
          ),
    recoveries_s: recoveries.map(({ recovery_s }) => recovery_s),
  };
}
