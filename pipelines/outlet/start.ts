// What outlet needs: which tenants have topics. Answers and second answers are groups of their own.
import { outletAlternatives } from "./alternatives.ts";
import { outletResponses } from "./responses.ts";
import type { SessionOf } from "../../state/session.ts";
import type { RunningStage } from "../../runtime/running-stage.ts";
import { assembleStage } from "../stage.ts";

export async function startOutletResponses(
  session: SessionOf<typeof outletResponses>,
  instance: string,
): Promise<RunningStage> {
  const pipeline = outletResponses.bind({ hasTopics: session.tenants.has });
  const stage = assembleStage(session, { pipeline, instance });
  await stage.start();
  return stage;
}

export async function startOutletAlternatives(
  session: SessionOf<typeof outletAlternatives>,
  instance: string,
): Promise<RunningStage> {
  const pipeline = outletAlternatives.bind({ hasTopics: session.tenants.has });
  const stage = assembleStage(session, { pipeline, instance });
  await stage.start();
  return stage;
}
