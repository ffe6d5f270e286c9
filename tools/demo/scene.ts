// One scene of the demo: it shows something that happens, and reports missing parts of the system.
import type { Session } from "../../pipelines/session.ts";
import type { Client } from "./client.ts";
import type { SampleData } from "./sample-data.ts";
import type { Screen } from "./screen.ts";

export interface SceneContext {
  screen: Screen;
  session: Session;
  /** Names of the stages that run: plan, generate.small, ... */
  stages: ReadonlySet<string>;
  client: Client;
  data: SampleData;
  signal: AbortSignal;
  /** When the command was given, ms since the epoch. */
  commandedAt: number;
  /** Resolves when all configured arms answer; at first only those whose models are there. */
  complete: Promise<void>;
}

export type Scene = (context: SceneContext) => Promise<void>;
