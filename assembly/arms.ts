// Makes arms for a stage: those of the configuration, or in a replay of a log what stands in for
// them.
import { createArm } from "../arms/create.ts";
import type { SessionOf } from "../serving/session.ts";

/** As createArm; an arm whose answers a replay takes from the log calls no model. */
export function armOpener({ replay }: SessionOf<object>): typeof createArm {
  if (replay === undefined) return createArm;
  return async (config, dependencies) => replay.arm(config, () => createArm(config, dependencies));
}
