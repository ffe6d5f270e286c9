// Starts the stages of this process on a session and says what they are. The seam between the command line and the runner.
import type { Registry } from "prom-client";
import type { StageReport } from "../runtime/health.ts";
import type { PipelineDescription } from "../runtime/pipeline.ts";
import { CommandError } from "./io.ts";
import type { Session } from "./session.ts";

/** Stages that --stage may name. */
export const stageNames = ["plan", "generate", "record"] as const;
export type StageName = (typeof stageNames)[number];

export interface StartOptions {
  stages: readonly StageName[];
  /** Stable id of this process; absent: the first free one. */
  instance?: string | undefined;
  metrics: Registry;
}

export interface RunningStages {
  /** One a stage, generate one an arm. */
  reports(): Record<string, StageReport>;
  /** Finishes or abandons what is under way within limits.drainMs, commits, leaves. */
  stop(): Promise<void>;
}

// eslint-disable-next-line @typescript-eslint/require-await -- the stages are wired here next
export async function startStages(_session: Session, options: StartOptions): Promise<RunningStages> {
  throw new CommandError(`stages are not wired yet (${options.stages.join(", ")})`);
}

/** What the runner would start, in the order of the flow. */
export function describeStages(): readonly PipelineDescription[] {
  return [];
}
