// example replay: examples that would gain most are asked again. A run is started by
// `precedent examples replay run` or by the schedule; one at a time (runtime/singleton.ts).
import type { ExampleReplayResult } from "../../operators/example-replay/example-replay.ts";
import type { Declaration } from "../../runtime/declaration.ts";
import { pass } from "../../runtime/pass.ts";

export interface ExampleReplayDependencies {
  /** Asks for one example again and judges its answers; without samples it was not asked. */
  again: () => Promise<ExampleReplayResult>;
  /** Its outcome and what it changes, in one transaction. */
  publish: (replayed: ExampleReplayResult) => Promise<void>;
}

const declaration = {
  name: "example-replay",
  sources: ["ClickHouse"],
  // How busy the arms are that plan calls itself.
  tables: ["inline-calls"],
  outputs: ["examples", "example-replays", "ClickHouse"],
} as const satisfies Declaration;

const steps = pass<ExampleReplayDependencies>()
  .step("example-replay", ({ again }) => async () => ({ replayed: await again() }))
  .step("publish", ({ publish }) => async ({ replayed }) => {
    if (replayed.samples > 0) await publish(replayed);
  })
  .end();

export const exampleReplay = { ...declaration, ...steps } as const;
