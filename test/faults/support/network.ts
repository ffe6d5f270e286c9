// Connections between stage processes and the broker that are cut, held up or left half-open for a
// while (test/support/unreliable-network.ts).
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "../../../algorithms/numeric/random.ts";
import { cuts } from "../../support/unreliable-network.ts";
import type { Fault } from "./recovery.ts";

const forMs = 6_000;

/** Only instances that were started with a network of their own feel it. */
export const cutConnections = (random: Random, instances: readonly string[]): Fault => ({
  name: "connections to the broker cut",
  async run(rig) {
    const end = Date.now() + forMs;
    let made = 0;
    for (; Date.now() < end; made++) {
      await sleep(100 + random() * 300);
      const instance = instances[Math.floor(random() * instances.length)] ?? "";
      rig.workers.cut(instance, Math.floor(random() * 1_000), cuts[Math.floor(random() * cuts.length)] ?? "close");
    }
    return `${made} times, of ${instances.join(" and ")}`;
  },
});
