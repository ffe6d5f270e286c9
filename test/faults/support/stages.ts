// Faults of the stage processes: killed, frozen past their session, all at once, joined and left;
// and a storm of rebalances without new processes.
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "../../../algorithms/numeric/random.ts";
import { groupName } from "../../../runtime/running-stage.ts";
import type { StageName } from "../../../pipelines/up.ts";
import type { Fault } from "./recovery.ts";
import type { Rig, Slot } from "./rig.ts";

const pick = <T>(values: readonly T[], random: Random): T => {
  const value = values[Math.floor(random() * values.length)];
  if (value === undefined) throw new RangeError("nothing to choose from");
  return value;
};

async function killAndStart(rig: Rig, slots: readonly Slot[]): Promise<void> {
  await Promise.all(slots.map(({ instance }) => rig.workers.kill(instance)));
  await sleep(500);
  await Promise.all(slots.map((slot) => rig.start(slot)));
}

export const killStage = (random: Random): Fault => ({
  name: "kill a stage process",
  async run(rig) {
    const slot = pick(rig.slots, random);
    await killAndStart(rig, [slot]);
    return slot.instance;
  },
});

export const killAllStages: Fault = {
  name: "kill all stage processes",
  async run(rig) {
    await killAndStart(rig, rig.slots);
    return `${rig.slots.length} processes`;
  },
};

/**
 * Its members are taken for dead, others take its partitions; thawed, it is a zombie with work
 * under way. From outside it is an event loop that is blocked.
 */
export const freezeStage = (random: Random): Fault => ({
  name: "freeze a stage process past its session",
  async run(rig) {
    const { instance } = pick(rig.slots, random);
    rig.workers.freeze(instance);
    await sleep(rig.sessionTimeoutMs + 2_500);
    rig.workers.thaw(instance);
    return instance;
  },
});

const joining: readonly StageName[] = ["plan", "generate", "record"];
export const joinAndLeave = (random: Random): Fault => ({
  name: "a stage process joins and leaves",
  async run(rig) {
    const stage = pick(joining, random);
    const instance = `${stage}-guest`;
    await rig.start({ stage, instance });
    await sleep(3_000);
    const code = await rig.workers.terminate(instance);
    if (code !== 0) throw new Error(`${instance} ended with ${String(code)} when it was asked to end`);
    return stage;
  },
});

const stormMs = 10_000;
/**
 * Members that do nothing come into plan's group and go, one a second: each time all partitions are
 * shared out anew.
 */
export const rebalanceStorm: Fault = {
  name: "rebalance storm",
  async run({ session, sessionTimeoutMs }) {
    const group = groupName(session.config.kafka.prefix, "plan");
    const end = Date.now() + stormMs;
    let rounds = 0;
    for (; Date.now() < end; rounds++) {
      const guest = session.kafka.groupConsumer({
        ...{ group, topics: [session.topic("requests")], sessionTimeoutMs },
        instance: `storm-${Date.now()}`,
      });
      const joined = guest.run({ onJoin: () => undefined, onBatch: () => undefined });
      await Promise.race([joined, sleep(1_000)]);
      await guest.stop();
      await joined.catch(() => undefined);
    }
    return `${rounds} members came and went`;
  },
};
