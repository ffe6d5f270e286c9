// What every stage counts (runtime/metrics/stage.ts for Prometheus): in, out, dropped and why,
// under way, lag, operators' times.
import type { PartitionLag } from "../lag.ts";

export interface StageMetrics {
  received(count: number): void;
  /** Records sent to an output, e.g. "responses" or "work.small". */
  sent(output: string, count: number): void;
  /** One record that went no further; reason is a stable snake_case code, never free text. */
  dropped(reason: string, count?: number): void;
  /** A partition goes on elsewhere: its log lost its end, or is another topic's. */
  reset(reason: string): void;
  /** Time of one operator, in milliseconds; `whole` is the name of the entire pipeline. */
  observe(operator: string, milliseconds: number): void;
  inFlight(count: number): void;
  /** Lag of the stage's partitions, read on every scrape. */
  lag(now: () => readonly PartitionLag[]): void;
}

/** Operator's name for the whole way of a record through the stage. */
export const whole = "whole";
