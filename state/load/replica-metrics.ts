// The replicas of arms as a process that calls them sees them, for dashboards (docs/engines.md).
// Arms with one endpoint that reports nothing have none: precedent_arm_utilisation says it all.
import { Gauge } from "prom-client";
import type { Arm, ReplicaState } from "../../arms/arm.ts";
import { levels } from "../breakers/metrics.ts";
import { oncePerRegistry } from "../../runtime/metrics/instruments.ts";
import type { MetricsRegistry } from "../../runtime/metrics/stage.ts";

/** Those worth showing: several, or one that reports its load. */
export function shownReplicas({ replicas }: Pick<Arm, "replicas">): ReplicaState[] {
  const all = replicas?.() ?? [];
  return all.length > 1 || all.some(({ engine }) => engine !== undefined) ? all : [];
}

export const createReplicaMetrics = oncePerRegistry((registry: MetricsRegistry) => {
  const watched = new Set<Arm>();
  const shown = (): { arm: string; replica: ReplicaState }[] =>
    [...watched].flatMap((arm) => shownReplicas(arm).map((replica) => ({ arm: arm.name, replica })));
  const gauge = (name: string, help: string, valueOf: (replica: ReplicaState) => number | null | undefined): void => {
    new Gauge({
      ...{ name, help, labelNames: ["arm", "replica"], registers: [registry] },
      collect() {
        this.reset();
        for (const { arm, replica } of shown()) {
          const value = valueOf(replica);
          if (typeof value === "number") this.set({ arm, replica: replica.name }, value);
        }
      },
    });
  };
  gauge(
    "precedent_replica_load",
    "Requests that a replica has: as its engine reports, else this process's own.",
    ({ load }) => load,
  );
  gauge(
    "precedent_replica_waiting",
    "Requests that wait in a replica's engine, as it reports.",
    ({ engine }) => engine?.waiting,
  );
  gauge(
    "precedent_replica_cache_usage",
    "Share of its KV cache that a replica's requests under way hold, 0 to 1, as it reports.",
    ({ engine }) => engine?.cacheUsage,
  );
  gauge(
    "precedent_replica_breaker",
    "Breaker of a replica in a process that calls it: 0 closed, 1 half-open, 2 open.",
    ({ breaker }) => levels[breaker],
  );
  return {
    /** The arm, whose replicas show until it is closed. */
    watch(arm: Arm): Arm {
      if (arm.replicas === undefined) return arm;
      watched.add(arm);
      const close = (): Promise<void> => {
        watched.delete(arm);
        return arm.close();
      };
      return { ...arm, close };
    },
  };
});
