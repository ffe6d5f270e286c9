// What a replay run needs: the arms that it asks.
import { createArm } from "../arms/create.ts";
import type { replay } from "../pipelines/replay.ts";
import { runReplay, type ReplayRun, type ReplaySummary } from "../serving/replay.ts";
import type { SessionOf } from "../serving/session.ts";

/** Rejects as runReplay does. */
export const startReplay = (session: SessionOf<typeof replay>, run: ReplayRun): Promise<ReplaySummary> =>
  runReplay(session, (config) => createArm(config, { log: session.log }), run);
