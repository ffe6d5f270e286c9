// Starts an example replay run, one at a time: the one that holds the lock of the group
// `example-replay`. A run that was stopped continues under its id where it stood.
import { exampleReplay } from "./pipeline.ts";
import { createSingleton } from "../../runtime/singleton.ts";
import { replayExamples, type OpenArm, type ExampleReplayRun, type ExampleReplaySummary } from "./run.ts";
import type { SessionOf } from "../../state/session.ts";
import { groupName } from "../../runtime/running-stage.ts";

export type { ExampleReplayRun, ExampleReplaySummary };

export class ExampleReplayUnderWay extends Error {
  override name = "ExampleReplayUnderWay";
  constructor() {
    super("another example replay run holds the lock: wait for its end, or stop it");
  }
}

/** A run asks for the lock so long; a run that was killed holds it until its session times out. */
const electionMs = 60_000;

/** Rejects when another run holds the lock, or an arm, Kafka or ClickHouse fails. */
export async function runExampleReplay(
  session: SessionOf<typeof exampleReplay>,
  openArm: OpenArm,
  run: ExampleReplayRun,
): Promise<ExampleReplaySummary> {
  const group = groupName(session.config.kafka.prefix, exampleReplay.name);
  let began = false;
  return new Promise<ExampleReplaySummary>((resolve, reject) => {
    const singleton = createSingleton({
      group,
      topic: session.topic("locks"),
      instance: run.runId,
      sessionTimeoutMs: session.config.kafka.sessionTimeoutMs,
      transactionalId: `${group}.writer`,
      outputs: [session.topic("example-replays"), session.topic("examples")],
      kafka: session.kafka,
      log: session.log,
      async task(lease) {
        if (began) return;
        began = true;
        await replayExamples(session, openArm, run, lease).then(end(resolve), end(reject));
      },
    });
    const end =
      <T>(settle: (value: T) => void) =>
      (value: T): void => {
        clearTimeout(limit);
        // Not awaited here: stopping waits for the task, which is us.
        void singleton.stop().then(
          () => settle(value),
          () => settle(value),
        );
      };
    const limit = setTimeout(() => {
      if (!began) end(reject)(new ExampleReplayUnderWay());
    }, electionMs);
    run.signal.addEventListener("abort", () => {
      if (!began) end(reject)(run.signal.reason instanceof Error ? run.signal.reason : new Error("stopped"));
    });
    singleton.start().catch(end(reject));
  });
}
