// Makes arms for a stage: those of the configuration, or in a replay of a log what stands in for
// them.
import { createArm } from "../arms/create.ts";
import type { SessionOf } from "../serving/session.ts";
import { callHeaders, traceArm } from "../serving/tracing/arm.ts";

/**
 * As createArm; an arm whose answers a replay takes from the log calls no model. Calls of models
 * are traced where anything is.
 */
export function armOpener({ replay, tracing }: SessionOf<object>): typeof createArm {
  if (replay !== undefined)
    return async (config, dependencies) => replay.arm(config, () => createArm(config, dependencies));
  if (tracing === undefined) return createArm;
  return async (config, dependencies) => {
    const arm = await createArm(config, { ...dependencies, headers: () => callHeaders(tracing) });
    return config.type === "reuse" ? arm : traceArm(arm, config.type, tracing);
  };
}
