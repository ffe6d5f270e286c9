// What the loop benchmark measures in turn: the real loop with queued and with inline arms, and the
// floor of each, the same number of hops with empty operators on the same broker. The quick form
// has the queued pair alone: it guards two ratios, in a minute.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Kafka } from "../../connections/kafka/port.ts";
import type { BenchContext } from "../benchmark.ts";
import { serverPids } from "../support/stack.ts";
import { startChild } from "./child.ts";
import { createDriver, type Driver } from "./driver.ts";
import type { SystemName } from "./figures.ts";
import type { History } from "./history.ts";
import { driveLoop, floorStints, loopStints, type RunStint } from "./stints.ts";
import { startRealLoop, type RealLoop } from "./system.ts";

export interface Systems {
  stints: Readonly<Record<"loop" | "floor", RunStint> & Partial<Record<SystemName, RunStint>>>;
  /** With queued arms. */
  queued: RealLoop;
  close(): Promise<void>;
}

export async function startSystems(
  context: BenchContext,
  { stack, brokers, history }: { stack: string; brokers: readonly string[]; history: History },
): Promise<Systems> {
  const { signal, note } = context;
  const closing: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const one of closing.splice(0).reverse()) await one().catch((error: unknown) => note(String(error)));
  };
  const opened = async (opening: Promise<Driver>): Promise<Driver> => {
    const driver = await opening;
    closing.push(driver.close);
    return driver;
  };
  try {
    note("starting the stages and the floors");
    const servers = await serverPids(stack);
    const prefix = `loop_${randomBytes(4).toString("hex")}`;
    const real = async (dispatch: "queued" | "inline"): Promise<{ system: RealLoop; run: RunStint }> => {
      const options = { stackFolder: stack, prefix: `${prefix}_${dispatch}`, history, dispatch };
      const system = await startRealLoop(context, options);
      closing.push(system.stop);
      return { system, run: loopStints(system, await opened(driveLoop(system, signal)), servers) };
    };
    const floor = async (kafka: Kafka, hops: 1 | 2): Promise<RunStint> => {
      const own = `${prefix}.floor-${hops}.`;
      const child = await startChild({
        arguments: ["tools/bin/run.mjs", floorProcess, brokers.join(","), own, String(hops)],
        log: join(context.folder, `floor-${hops}.log`),
        profile: context.profile ? join(context.folder, "profiles") : undefined,
        signal,
      });
      closing.push(child.stop);
      const topics = { requests: `${own}requests`, responses: `${own}responses` };
      const driver = await opened(createDriver({ kafka, ...topics, next: kilobyte(), signal }));
      return floorStints(child, driver, servers);
    };
    // One after the other: the first process takes an instance id.
    const queued = await real("queued");
    const { kafka } = queued.system.session;
    const pair = { loop: queued.run, floor: await floor(kafka, 2) };
    if (context.quick) return { stints: pair, queued: queued.system, close };
    const inline = await real("inline");
    return { stints: { ...pair, inline: inline.run, floorOne: await floor(kafka, 1) }, queued: queued.system, close };
  } catch (error) {
    await close();
    throw error;
  }
}

const floorProcess = fileURLToPath(new URL("./floor-process.ts", import.meta.url));

function kilobyte(): () => { key: string; value: Buffer } {
  const value = Buffer.alloc(1_000, "x");
  let sent = 0;
  return () => ({ key: `floor-${sent++}`, value });
}
