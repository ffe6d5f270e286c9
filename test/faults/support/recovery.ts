// Does one thing to a system under load and measures how soon it goes on: everything asked before
// the fault and several requests from after it are answered, and every stage has committed past
// what waited for it when the fault was over.
import { setTimeout as sleep } from "node:timers/promises";
import type { Rig } from "./rig.ts";

export interface Fault {
  name: string;
  /**
   * Resolves when the fault is over: the server is back, the process runs again. Says what it did,
   * for the report.
   */
  run(rig: Rig): Promise<string | undefined>;
}

export interface Recovery {
  fault: string;
  detail?: string;
  /** How long the fault itself took, in seconds. */
  lasted_s: number;
  /** From its end until the system went on, in seconds; null: it did not before the run gave up. */
  recovery_s: number | null;
  /** It took longer than it may. */
  stalled: boolean;
  /** What was missing, where it stalled. */
  missing?: string;
}

export interface RecoveryLimits {
  /** Longer is a stall. */
  withinMs: number;
  /** A stall is watched for so long, then it counts as one for good. */
  giveUpMs: number;
}
const recoveryLimits: RecoveryLimits = { withinMs: 30_000, giveUpMs: 150_000 };

/** Requests from after the fault that must be answered. */
const fresh = 10;

export async function recover(rig: Rig, fault: Fault, limits: RecoveryLimits = recoveryLimits): Promise<Recovery> {
  const { oracle } = rig;
  const asked = oracle.issued.length;
  const began = performance.now();
  const detail = await fault.run(rig);
  const over = performance.now();
  const since = oracle.issued.length;
  let ends: ReadonlyMap<string, number> | undefined;
  const lacking = async (): Promise<string | undefined> => {
    ends ??= await oracle.ends();
    const before = asked - oracle.answeredOf(0, asked);
    if (before > 0) return `${before} of ${asked} requests from before the fault have no answer`;
    const after = oracle.answeredOf(since);
    if (after < fresh) return `${after} of ${oracle.issued.length - since} requests from after the fault are answered`;
    const behind = await oracle.behind(ends);
    return behind.length === 0 ? undefined : `not committed: ${behind.join(", ")}`;
  };
  let missing: string | undefined;
  let stalledOn: string | undefined;
  for (;;) {
    missing = await lacking().catch((error: unknown) => String(error));
    const spent = performance.now() - over;
    if (missing !== undefined && stalledOn === undefined && spent > limits.withinMs) stalledOn = missing;
    if (missing === undefined || spent > limits.giveUpMs)
      return {
        fault: fault.name,
        ...(detail === undefined ? {} : { detail }),
        lasted_s: seconds(over - began),
        recovery_s: missing === undefined ? seconds(spent) : null,
        stalled: missing !== undefined || spent > limits.withinMs,
        ...(stalledOn === undefined ? {} : { missing: stalledOn }),
      };
    await sleep(100);
  }
}

const seconds = (ms: number): number => Math.round(ms / 10) / 100;
