// example replay: examples that would gain most are asked again. A run is started by
// `precedent examples replay run` or by the schedule; one at a time (runtime/singleton.ts).
import type { Replayed } from "../../operators/replay/replay.ts";
import type { Declaration } from "../../runtime/declaration.ts";
import { pass } from "../../runtime/pass.ts";

export interface ReplayDependencies {
  /** Asks for one example again and judges its answers; without samples it was not asked. */
  again: () => Promise<Replayed>;
  /** Its outcome and what it changes, in one transaction. */
  publish: (replayed: Replayed) => Promise<void>;
}

const declaration = {
  name: "replay",
  sources: ["ClickHouse"],
  // How busy the arms are that plan calls itself.
  tables: ["inline-calls"],
  outputs: ["examples", "replays", "ClickHouse"],
} as const satisfies Declaration;

/** Of one example. */
const steps = pass<ReplayDependencies>()
  .step("replay", ({ again }) => async () => ({ replayed: await again() }))
  .step("publish", ({ publish }) => async ({ replayed }) => {
    if (replayed.samples > 0) await publish(replayed);
  })
  .end();

export const replay = { ...declaration, ...steps } as const;
