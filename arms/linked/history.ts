// Keeps an arm's processes in agreement about `auto`: each reads all samples from the history,
// which replace its own; unreachable (logged once), it uses its own.
import type { Logger } from "pino";
import type { Chosen, LinkedChoice, PastSample } from "./choice.ts";
import { candidatesOf, mostPast } from "./choice.ts";
import type { Sample } from "./idle.ts";

/** Samples of another model or other caches have another curve. */
export interface CurveOf {
  /** SHA-256 of the model file, hex. */
  model: string;
  convention: string;
}

export interface LinkHistory {
  /** The newest `limit` samples of each policy within the last days, oldest first overall. */
  samples(of: CurveOf, policies: readonly string[], limit: number): Promise<PastSample[]>;
  /** Policies that were recorded last as chosen, by kind of chunk, for this curve. */
  choices(of: CurveOf): Promise<ReadonlyMap<string, string>>;
  sampled(sample: Sample, of: CurveOf): void;
  chose(chosen: Chosen, of: CurveOf): void;
}

export interface FollowOptions {
  choice: LinkedChoice;
  /** undefined: there is none, and a process goes by its own samples. */
  history: LinkHistory | undefined;
  /** Asked each time, for the model's file may have been changed under a new process. */
  of: () => CurveOf;
  log: Pick<Logger, "info" | "warn">;
}

const everyMs = 60_000;

export function followHistory({ choice, history, of, log }: FollowOptions) {
  const recorded = new Map<string, string>();
  let asked = false;
  let reading = false;
  let away = false;

  function record(): void {
    if (!asked) return;
    for (const chosen of choice.chosen()) {
      const { kind, policy, record: known } = chosen;
      if (recorded.get(kind) === policy) continue;
      recorded.set(kind, policy);
      history?.chose(chosen, of());
      log.info({ chunks: kind, policy, kl: known?.kl, share: known?.share }, "linked prefill: auto");
    }
  }

  async function read(from: LinkHistory): Promise<void> {
    if (reading) return;
    reading = true;
    try {
      const curve = of();
      const [samples, newest] = await Promise.all([
        from.samples(curve, candidatesOf(true), mostPast),
        from.choices(curve),
      ]);
      choice.restore(samples);
      for (const [kind, policy] of newest) recorded.set(kind, policy);
      if (away) log.info({ samples: samples.length }, "samples of linked prefill can be read again");
      away = false;
    } catch (error) {
      if (!away)
        log.warn({ err: error }, "samples of linked prefill can't be read: auto goes by what this process measured");
      away = true;
    } finally {
      reading = false;
      asked = true;
      record();
    }
  }

  // A policy that is set needs no history.
  const from = choice.chosen().length === 0 ? undefined : history;
  const timer = from && setInterval(() => void read(from), everyMs).unref();
  if (from !== undefined) void read(from);
  return {
    measured(sample: Sample): void {
      choice.add(sample);
      history?.sampled(sample, of());
      record();
    },
    stop: (): void => clearInterval(timer),
  };
}
