// What an example replay run needs: the arms that it asks, and who judges.
import { resolve } from "node:path";
import type { Logger } from "pino";
import { createArm } from "../../arms/create.ts";
import type { ArmConfig } from "../../config/schema.ts";
import { references } from "../../config/sections/curate.ts";
import { createCompare } from "../../operators/judge/compare.ts";
import {
  createArmJudge,
  createReferenceJudge,
  readReferences,
  type Judge,
} from "../../operators/example-replay/judge.ts";
import type { exampleReplay } from "./pipeline.ts";
import { runExampleReplay, type ExampleReplayRun, type ExampleReplaySummary } from "./replay.ts";
import type { SessionOf } from "../../state/session.ts";
import { armOpener } from "../arms.ts";

/** Rejects as runExampleReplay does. */
export const startExampleReplay = (
  session: SessionOf<typeof exampleReplay>,
  run: ExampleReplayRun,
): Promise<ExampleReplaySummary> =>
  runExampleReplay(session, (config) => armOpener(session)(config, { log: session.log }), run);

export interface OpenJudge {
  judge: Judge;
  close(): Promise<void>;
}

/** An arm, or reference:FILE from `folder`. Rejects when there is none. */
export async function openJudge(
  who: string,
  { arms, folder, log }: { arms: readonly ArmConfig[]; folder: string; log: Logger },
): Promise<OpenJudge> {
  if (who.startsWith(references)) {
    const known = await readReferences(resolve(folder, who.slice(references.length)));
    return { judge: createReferenceJudge(known), close: () => Promise.resolve() };
  }
  const found = arms.find(({ name }) => name === who);
  if (found === undefined)
    throw new Error(
      `there is no judge "${who}": ${references}FILE, or one of ${arms.map(({ name }) => name).join(", ")}`,
    );
  const arm = await createArm(found, { log });
  return { judge: createArmJudge(who, createCompare({ arm, clock: Date.now })), close: () => arm.close() };
}
