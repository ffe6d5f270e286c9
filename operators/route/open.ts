// What route needs: the policies in force, the arms' load and breakers, and metrics.
import type { Logger } from "pino";
import type { BreakersOf } from "../../state/breakers/breakers.ts";
import type { CachedShares } from "../../state/cached-shares.ts";
import { createLoadMonitor, type MonitoredArm } from "../../state/load/load.ts";
import { createLoadMetrics } from "../../state/load/metrics.ts";
import type { OpenedPolicies } from "../../state/policies/open.ts";
import type { SessionOf } from "../../state/session.ts";
import { createReuseMetrics } from "./metrics.ts";
import type { RouteDependencies } from "./route.ts";

export interface RouteOptions {
  policies: Pick<OpenedPolicies, "router" | "reuse">;
  breakers: ReturnType<BreakersOf>;
  cached: CachedShares;
  monitored: () => readonly MonitoredArm[];
  clock: () => number;
  log: Logger;
}

export interface OpenedRoute {
  dependencies: Omit<RouteDependencies, "arms" | "clock" | "random" | "routing">;
  stop(): void;
}

export function openRoute(
  { config, kafka, metrics, logReplay }: SessionOf<{ sources: ["requests"] }>,
  { policies, breakers, cached, monitored, clock, log }: RouteOptions,
): OpenedRoute {
  const { set: onRead } = createLoadMetrics(metrics, config.routing);
  const load = createLoadMonitor({ kafka, arms: monitored, now: clock, onRead, log });
  return {
    dependencies: {
      policy: (version) => (version === undefined ? policies.router.current() : policies.router.version(version)),
      load: logReplay?.load ?? load.load,
      health: breakers,
      cached: logReplay === undefined ? cached : undefined,
      reuseBound: policies.reuse.bound,
      onReuse: createReuseMetrics(metrics).decided,
    },
    stop: load.stop,
  };
}
