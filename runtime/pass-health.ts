// Whether a singleton's passes succeed; failing or endless ones are unhealthy, waiting isn't.
import { messageOf } from "../connections/errors.ts";
import { describeStall } from "./progress.ts";

export type PassHealth = ReturnType<typeof watchPasses>;

/** So many times the limit and a pass is taken for hung. */
const hungFactor = 10;

export function watchPasses({ stalledAfterMs, now = Date.now }: { stalledAfterMs: number; now?: () => number }) {
  const failing = new Map<string, { since: number; message: string }>();
  const underWay = new Map<string, number>();
  return {
    /** For the `health` of repeat.ts; the name tells the passes of one task apart. */
    of: (name: string): { began(): void; passed(): void; failed(error: unknown): void } => ({
      began: () => void underWay.set(name, now()),
      passed() {
        underWay.delete(name);
        failing.delete(name);
      },
      failed(error) {
        underWay.delete(name);
        const message = messageOf(error);
        failing.set(name, { since: failing.get(name)?.since ?? now(), message });
      },
    }),
    /** The task is over in this process: another process runs it now, or none does. */
    clear(): void {
      failing.clear();
      underWay.clear();
    },
    report(): { stalledMs?: number; problems?: string[] } {
      const time = now();
      const hung = [...underWay].filter(([, since]) => time - since > hungFactor * stalledAfterMs);
      if (failing.size === 0 && hung.length === 0) return {};
      const problems = [...failing]
        .filter(([, { since }]) => time - since > stalledAfterMs)
        .map(([name, { since, message }]) =>
          describeStall([name], since, time, `every pass fails (${message}): see what it depends on; nothing is lost`),
        );
      const ends = "a pass does not end: restart this process and report it; nothing is lost";
      problems.push(...hung.map(([name, since]) => describeStall([name], since, time, ends)));
      const sinces = [...[...failing.values()].map(({ since }) => since), ...hung.map(([, since]) => since)];
      const stalledMs = Math.max(...sinces.map((since) => time - since));
      return { stalledMs, ...(problems.length > 0 ? { problems } : {}) };
    },
  };
}
