// Whether the passes of a singleton's task succeed: one that has failed for too long makes the stage unhealthy, with its error.
// Who waits for the lock has no passes and is healthy.
import { messageOf } from "../algorithms/errors.ts";
import { describeStall } from "./progress.ts";

export interface PassHealth {
  /** For the `health` of repeat.ts; the name tells the passes of one task apart. */
  of(name: string): { passed(): void; failed(error: unknown): void };
  /** The task is over: another process does it now, or nobody. */
  clear(): void;
  report(): { stalledMs?: number; problems?: string[] };
}

export function watchPasses({
  stalledAfterMs,
  now = Date.now,
}: {
  stalledAfterMs: number;
  now?: () => number;
}): PassHealth {
  const failing = new Map<string, { since: number; message: string }>();
  return {
    of: (name) => ({
      passed: () => void failing.delete(name),
      failed(error) {
        const message = messageOf(error);
        failing.set(name, { since: failing.get(name)?.since ?? now(), message });
      },
    }),
    clear: () => failing.clear(),
    report() {
      if (failing.size === 0) return {};
      const time = now();
      const problems = [...failing]
        .filter(([, { since }]) => time - since > stalledAfterMs)
        .map(([name, { since, message }]) =>
          describeStall([name], since, time, `every pass fails (${message}): see what it depends on; nothing is lost`),
        );
      const stalledMs = Math.max(...[...failing.values()].map(({ since }) => time - since));
      return { stalledMs, ...(problems.length > 0 ? { problems } : {}) };
    },
  };
}
