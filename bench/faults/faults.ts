// bench -- faults: the broker is killed and started again under load, by kill -9 at moments that a
// seed chooses. Stages are processes of their own on a stack of this benchmark's own, which goes
// away with it. The harness is that of the tests and the soak (test/faults/).
import { setTimeout as sleep } from "node:timers/promises";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { check } from "../../test/faults/support/checks.ts";
import { recover, type Recovery } from "../../test/faults/support/recovery.ts";
import { createRig, type Slot } from "../../test/faults/support/rig.ts";
import { killServer } from "../../test/faults/support/servers.ts";
import type { BenchContext, Benchmark, Measured } from "../benchmark.ts";
import { figuresOf, type Stint } from "./figures.ts";

interface Plan {
  /**
   * Each on a stack of its own, so that a run that was broken off goes on behind the last whole
   * one.
   */
  stints: number;
  kills: number;
  /** Instances of plan and of generate. */
  instances: number;
  perSecond: number;
}
const quick: Plan = { stints: 1, kills: 5, instances: 1, perSecond: 20 };
const full: Plan = { stints: 5, kills: 10, instances: 2, perSecond: 40 };

export const faults: Benchmark = {
  name: "faults",
  about:
    "the broker killed and started again under load: what stalls, is lost or comes twice, and how soon the system goes on",
  run,
};

async function run(context: BenchContext): Promise<Measured> {
  const plan = context.quick ? quick : full;
  const bar = context.progress("killing the broker", plan.stints * plan.kills, "kills");
  const stints: Stint[] = [];
  for (let number = 0; number < plan.stints; number++) {
    context.signal.throwIfAborted();
    const before = number * plan.kills;
    const killed = (kills: number): void => bar.update(before + kills);
    stints.push(await context.checkpoints.part(`stint ${number}`, () => stint(context, plan, number, killed)));
    killed(plan.kills);
  }
  bar.finish();
  return { figures: figuresOf(stints) };
}

async function stint(
  { note, signal }: BenchContext,
  { kills, instances, perSecond }: Plan,
  seed: number,
  killed: (kills: number) => void,
): Promise<Stint> {
  const random = splitmix64(BigInt(seed));
  const several = Array.from({ length: instances }, (_, i) => String.fromCharCode("a".charCodeAt(0) + i));
  const slots: Slot[] = [
    ...(["plan", "generate"] as const).flatMap((stage) =>
      several.map((letter) => ({ stage, instance: `${stage}-${letter}` })),
    ),
    { stage: "record", instance: "record-a" },
  ];
  note("starting a stack and the stages");
  const rig = await createRig({ slots, perSecond });
  try {
    const recoveries: Recovery[] = [];
    for (let kill = 1; kill <= kills; kill++) {
      await sleep(500 + random() * 1_500, undefined, { signal });
      const recovery = await recover(rig, killServer("kafka"));
      recoveries.push(recovery);
      killed(kill);
      if (recovery.stalled) note(`stalled: ${recovery.missing ?? "?"}`);
      // It stands still for good: further kills would say nothing.
      if (recovery.recovery_s === null) break;
    }
    await rig.load.stop();
    const outcome = await check(rig);
    for (const violation of outcome.violations) note(violation);
    return { recoveries, outcome };
  } finally {
    await rig.stop();
  }
}
