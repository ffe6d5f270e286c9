// Arms that plan calls itself: opened before a configuration comes into force, closed after their
// last call. Counted under generate.<arm>, as if queued.
import { setTimeout as sleep } from "node:timers/promises";
import type { Arm, ArmResult, ReplicaState } from "../arms/arm.ts";
import type { ArmConfig } from "../config/schema.ts";
import { isInline } from "../config/sections/arms.ts";
import type { StageMetrics } from "../runtime/metrics/port.ts";
import type { Breakers } from "./breakers/breakers.ts";

export interface InlineArmsOptions {
  configured: () => readonly ArmConfig[];
  /** Rejects when the arm can't be made. */
  open: (config: ArmConfig) => Promise<Arm>;
  /** Puts an arm behind its breaker. */
  guard?: Breakers["guard"];
  metricsOf: (arm: string) => Pick<StageMetrics, "received" | "inFlight" | "observe" | "dropped">;
}

export interface InlineArm extends Pick<Arm, "answer"> {
  /** A request for it was refused, with that code. */
  refused(code: string): void;
}

export type InlineArms = Awaited<ReturnType<typeof createInlineArms>>;

const unguarded: Breakers["guard"] = (_name, arm) => arm;

/** A request may have been given to the arm just before it was taken out of force. */
const graceMs = 5_000;

export async function createInlineArms(options: InlineArmsOptions) {
  const { configured, open, guard = unguarded, metricsOf } = options;
  /** By the configuration itself: what is in force is another object afterwards. */
  const opened = new Map<ArmConfig, Counted>();
  /** Out of force, with calls that may be under way. */
  const retiring = new Map<string, Counted>();
  let closing = false;

  const openAll = async (arms: readonly ArmConfig[]): Promise<Map<ArmConfig, Counted>> => {
    const known = new Map([...opened].map(([config, arm]) => [JSON.stringify(config), arm]));
    const fresh = new Map<ArmConfig, Counted>();
    const results = await Promise.allSettled(
      arms.map(async (config) => {
        if (!isInline(config)) return;
        const same = known.get(JSON.stringify(config));
        fresh.set(config, same ?? counted(await open(config), guard, metricsOf(config.name)));
      }),
    );
    const failed = results.find((result) => result.status === "rejected");
    if (failed === undefined) return fresh;
    await closeUnknown(fresh);
    throw failed.reason;
  };
  const closeUnknown = async (arms: ReadonlyMap<ArmConfig, Counted>): Promise<void> => {
    const inUse = new Set(opened.values());
    await Promise.all([...arms.values()].filter((arm) => !inUse.has(arm)).map((arm) => arm.close()));
  };

  const retire = async (name: string, arm: Counted): Promise<void> => {
    retiring.set(name, arm);
    const end = Date.now() + graceMs;
    // A call ends by its deadline at the latest.
    while (!closing && (Date.now() < end || arm.calls() > 0)) await sleep(500, undefined, { ref: false });
    if (retiring.get(name) === arm) retiring.delete(name);
    await arm.close();
  };

  const first = await openAll(configured());
  for (const [config, arm] of first) opened.set(config, arm);

  return {
    of(name: string): InlineArm | undefined {
      const config = configured().find((arm) => arm.name === name);
      return config === undefined ? retiring.get(name) : opened.get(config);
    },
    calls: (): ReadonlyMap<string, number> =>
      new Map(
        configured().flatMap((config) => {
          const arm = opened.get(config);
          return arm === undefined ? [] : [[config.name, arm.calls()] as const];
        }),
      ),
    /** Set for an arm with endpoints. */
    replicas(name: string): ReplicaState[] | undefined {
      const config = configured().find((arm) => arm.name === name);
      return config && opened.get(config)?.replicas?.();
    },
    /** Rejects, with nothing changed, when an arm can't be opened. */
    async replace(next: readonly ArmConfig[], bringIntoForce: () => Promise<void>): Promise<void> {
      const before = new Map(opened);
      const after = await openAll(next);
      for (const [config, arm] of after) opened.set(config, arm);
      try {
        await bringIntoForce();
      } catch (error) {
        for (const config of after.keys()) if (!before.has(config)) opened.delete(config);
        await closeUnknown(after);
        throw error;
      }
      for (const config of before.keys()) if (!after.has(config)) opened.delete(config);
      const kept = new Set(opened.values());
      for (const [{ name }, arm] of before) if (!kept.has(arm)) void retire(name, arm);
    },
    async close(): Promise<void> {
      closing = true;
      await Promise.all([...opened.values(), ...retiring.values()].map((arm) => arm.close()));
    },
  };
}

interface Counted extends InlineArm, Pick<Arm, "replicas" | "close"> {
  calls(): number;
}

function counted(arm: Arm, guard: Breakers["guard"], metrics: ReturnType<InlineArmsOptions["metricsOf"]>): Counted {
  const guarded = guard(arm.name, arm);
  let calls = 0;
  const count = (change: 1 | -1): void => {
    calls += change;
    metrics.inFlight(calls);
  };
  return {
    calls: () => calls,
    async answer(request, signal, onText): Promise<ArmResult> {
      const began = performance.now();
      metrics.received(1);
      count(1);
      try {
        return await guarded.answer(request, signal, onText);
      } finally {
        count(-1);
        metrics.observe("call", performance.now() - began);
      }
    },
    refused: (code) => metrics.dropped(code),
    ...(arm.replicas && { replicas: arm.replicas }),
    close: () => arm.close(),
  };
}
