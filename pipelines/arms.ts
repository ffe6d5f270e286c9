// Makes arms for a stage: those of the configuration, or in a log replay what stands in for
// them.
import { createArm } from "../arms/create.ts";
import { createCallMetrics } from "../runtime/metrics/calls.ts";
import { breakerSettings } from "../state/breakers/breakers.ts";
import { createReplicaMetrics } from "../state/load/replica-metrics.ts";
import { measureArm } from "../state/measured-arm.ts";
import type { SessionOf } from "../state/session.ts";
import { callHeaders, traceArm } from "../state/traced-arm.ts";

/** As createArm; a log replay's arms call no model. Calls are counted and traced. */
export function armOpener({ config: { routing }, logReplay, tracing, metrics }: SessionOf<object>): typeof createArm {
  if (logReplay !== undefined)
    return async (config, dependencies) => logReplay.arm(config, () => createArm(config, dependencies));
  const calls = createCallMetrics(metrics);
  const replicas = createReplicaMetrics(metrics);
  const breaker = breakerSettings(routing.breaker);
  return async (config, dependencies) => {
    const traced = tracedOpener(tracing);
    return replicas.watch(measureArm(await traced(config, { breaker, ...dependencies }), calls));
  };
}

/** As createArm, for calls that are counted otherwise, such as those of judges. */
export const tracedOpener =
  (tracing: SessionOf<object>["tracing"]): typeof createArm =>
  async (config, dependencies) => {
    const headers = tracing && (() => callHeaders(tracing));
    const arm = await createArm(config, { ...dependencies, headers });
    return tracing === undefined || config.type === "reuse" ? arm : traceArm(arm, config.type, tracing);
  };
