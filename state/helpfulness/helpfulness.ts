// What plan knows of helpfulness: the helpfulness model and the threshold in force, followed on the
// topic `policies`, and how each example did so far.
import type { Logger } from "pino";
import { HELPFULNESS } from "../policies/helpfulness.ts";
import { createThresholdTable, THRESHOLD } from "../policies/threshold.ts";
import { createPolicyMetrics } from "../policies/metrics.ts";
import type { TableChange } from "../../runtime/table.ts";
import type { Policy } from "../../schemas/types.ts";
import { followOutcomes, type ExampleOutcomes } from "./outcomes.ts";
import { createModelHolder, type ModelHolderDependencies } from "./model.ts";
import type { SessionOf } from "../session.ts";

export type Helpfulness = ReturnType<typeof holdHelpfulness>;

export interface HelpfulnessOptions {
  /** As ModelHolderDependencies has it. */
  load: ModelHolderDependencies["load"];
  log: Logger;
  /** Stopped with it; by default read again and again. */
  outcomes?: ExampleOutcomes;
}

export function holdHelpfulness(
  { clickhouse, metrics: registry }: SessionOf<{ tables: ["ClickHouse"] }>,
  { load, log, outcomes = followOutcomes(clickhouse, log) }: HelpfulnessOptions,
) {
  const metrics = createPolicyMetrics(registry);
  const model = createModelHolder({ load, metrics, log });
  const thresholds = createThresholdTable();
  metrics.version(THRESHOLD, 0);

  const applyThreshold = (value: Policy | null): void => {
    const problem = value === null ? null : thresholds.apply(value);
    if (value === null) thresholds.remove();
    metrics.refused(THRESHOLD, problem !== null);
    metrics.version(THRESHOLD, thresholds.version());
    if (problem !== null) log.error({ policy: THRESHOLD, threshold: thresholds.current() }, problem);
  };

  return {
    /** Takes what is its own of the topic `policies`. */
    apply(changes: readonly TableChange<Policy>[]): void {
      for (const { key, value } of changes) {
        if (key === THRESHOLD) applyThreshold(value);
        else if (key === HELPFULNESS && value === null) model.remove();
        else if (key === HELPFULNESS && value !== null) model.apply(value);
      }
    },
    model: model.current,
    threshold: thresholds.current,
    outcomes: outcomes.of,
    /** Resolves when the helpfulness model that was published last is in force or refused. */
    settled: model.settled,
    async stop(): Promise<void> {
      outcomes.stop();
      await model.close();
    },
  };
}
