// What outlet needs: tenants that have topics. Alternative answers are a group of their own.
import { outletAlternativeAnswers, outletResponses } from "./pipeline.ts";
import type { SessionOf } from "../../state/session.ts";
import type { RunningStage } from "../../runtime/running-stage.ts";
import { startStage } from "../stage.ts";

export async function startOutletResponses(
  session: SessionOf<typeof outletResponses>,
  instance: string,
): Promise<RunningStage> {
  const pipeline = outletResponses.bind({ hasTopics: session.tenants.has });
  return startStage(session, { pipeline, instance });
}

export async function startOutletAlternativeAnswers(
  session: SessionOf<typeof outletAlternativeAnswers>,
  instance: string,
): Promise<RunningStage> {
  const pipeline = outletAlternativeAnswers.bind({ hasTopics: session.tenants.has });
  return startStage(session, { pipeline, instance });
}
