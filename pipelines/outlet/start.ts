// What outlet needs: which tenants have topics. Answers and alternative answers are groups of their
// own.
import { outletAlternativeAnswers } from "./alternative-answers.ts";
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

export async function startOutletAlternativeAnswers(
  session: SessionOf<typeof outletAlternativeAnswers>,
  instance: string,
): Promise<RunningStage> {
  const pipeline = outletAlternativeAnswers.bind({ hasTopics: session.tenants.has });
  const stage = assembleStage(session, { pipeline, instance });
  await stage.start();
  return stage;
}
