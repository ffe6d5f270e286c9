// Replicas of arms, by what each process that calls an arm says of them (topic breakers).
import type { ArmBreaker } from "../../../schemas/types.ts";
import type { Replica } from "./types/health.ts";

/** Calls are added up; of the engine's own figures the newest report counts. */
export function replicasOf(rows: readonly ArmBreaker[]): Replica[] {
  const found = new Map<string, Replica>();
  for (const { arm, replicas } of rows.toSorted((one, other) => one.createdAt - other.createdAt))
    for (const { name, state, calls, running, waiting, cacheUsage } of replicas) {
      const key = JSON.stringify([arm, name]);
      const before = found.get(key);
      const engine = waiting === null && before !== undefined ? before : { running, waiting, cacheUsage };
      found.set(key, {
        ...{ arm, name },
        processes: (before?.processes ?? 0) + 1,
        without: (before?.without ?? 0) + (state === "closed" ? 0 : 1),
        calls: (before?.calls ?? 0) + calls,
        ...{ running: engine.running, waiting: engine.waiting, cacheUsage: engine.cacheUsage },
      });
    }
  return [...found.values()].sort((one, other) =>
    one.arm === other.arm ? (one.name < other.name ? -1 : 1) : one.arm < other.arm ? -1 : 1,
  );
}
