// A stage in traces: a span for each record with its operators, ended when its outputs are
// committed; lost attempts end as abandoned. Bounded by the stage's window.
import type { Facts, Span, Tracing } from "../../connections/tracing/port.ts";
import type { Position } from "../step.ts";
import type { StageTracing } from "./port.ts";
import { factsOf } from "./facts.ts";

export interface StageTracingOptions {
  /** plan, generate.small. */
  stage: string;
  group: string;
  clock?: () => number;
}

/** After a lost partition results may still come into force at the next join, not much later. */
const doubtMs = 60_000;
/** Between two looks through what waits. */
const sweepMs = 1_000;

/** Worked, and not committed yet. */
interface Worked {
  span: Span;
  error: string | undefined;
  lostAt?: number;
}

const keyOf = ({ topic, partition, offset }: Position): string => `${topic}/${partition}/${offset}`;

const abandon = ({ span }: Pick<Worked, "span">): void => {
  span.set({ outcome: "abandoned" });
  span.end({ error: "abandoned" });
};

export function createStageTracing(
  tracing: Tracing,
  { stage, group, clock = Date.now }: StageTracingOptions,
): StageTracing {
  /** By position, in the order of their work; those in doubt among them. */
  const waiting = new Map<string, Worked>();
  let unsettled = 0;
  let sweptAt = 0;

  const take = (key: string): Worked | undefined => {
    const worked = waiting.get(key);
    if (worked !== undefined && waiting.delete(key) && worked.lostAt !== undefined) unsettled--;
    return worked;
  };
  const sweep = (): void => {
    if (unsettled === 0) return;
    const now = clock();
    if (now - sweptAt < sweepMs) return;
    sweptAt = now;
    for (const [key, worked] of waiting)
      if (worked.lostAt !== undefined && now - worked.lostAt > doubtMs) {
        take(key);
        abandon(worked);
      }
  };

  return {
    begin(raw, position) {
      sweep();
      const key = keyOf(position);
      const former = take(key);
      if (former !== undefined) abandon(former);
      const { topic, partition, offset } = position;
      const began = clock();
      const facts: Facts = { topic, partition, offset, group, stage };
      const span = tracing.follow(raw.headers, { name: `process ${topic}`, kind: "process", facts, at: began });
      const worked = (found: Facts, error?: string): void => {
        if (!span.isRecorded) return;
        span.set(found);
        waiting.set(key, { span, error });
      };
      return {
        headers: span.headers,
        during: span.during,
        worked(emits, timings) {
          if (!span.isRecorded) return;
          const { facts: found, error } = factsOf(emits);
          worked(found, error);
          let at = began;
          for (const { operator, ms } of timings) {
            span.child({ name: operator, kind: "inside", at }).end({ at: at + ms });
            at += ms;
          }
        },
        deadLettered: (code) => worked({ outcome: "dead_letter", code }, code),
        abandoned: () => abandon({ span }),
      };
    },
    committed(position) {
      const worked = take(keyOf(position));
      worked?.span.end({ error: worked.error });
    },
    dropped({ topic, partition }) {
      const prefix = `${topic}/${partition}/`;
      const lostAt = clock();
      for (const [key, worked] of waiting)
        if (worked.lostAt === undefined && key.startsWith(prefix)) {
          worked.lostAt = lostAt;
          unsettled++;
        }
    },
  };
}
