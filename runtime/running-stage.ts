// A stage that runs, and what it is called.
import type { StageHealth } from "./stage-health.ts";

export interface RunningStage {
  readonly name: string;
  health(): StageHealth;
  stop(): Promise<void>;
}

/** Name of a stage in groups, metrics and logs: plan, generate.small. */
export const stageName = (pipeline: string, arm?: string): string =>
  arm === undefined ? pipeline : `${pipeline}.${arm}`;

export const groupName = (prefix: string, pipeline: string, arm?: string): string => prefix + stageName(pipeline, arm);
