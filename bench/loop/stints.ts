// One load on the real loop or on the floor, with the CPU time that every process spent on it.
import { cpuSeconds, cpuSecondsOfTree } from "../support/processes.ts";
import type { Child } from "./child.ts";
import { createDriver, type Driver, type Load } from "./driver.ts";
import type { Stint } from "./figures.ts";
import type { RealLoop } from "./system.ts";

export type RunStint = (load: Load) => Promise<Stint>;

/** A client of the real loop. */
export function driveLoop({ session: { kafka, topic }, next }: RealLoop, signal: AbortSignal): Promise<Driver> {
  return createDriver({ kafka, requests: topic("requests"), responses: topic("responses"), next, signal });
}

/** servers: process ids of the stack's servers by name. */
export function loopStints(real: RealLoop, driver: Driver, servers: Readonly<Record<string, number>>): RunStint {
  let answered = 0;
  return (load) =>
    stint({ processes: real.processes, servers, driver, load }, async (values) => {
      answered += values.length;
      // Recording belongs to the loop: its CPU counts, and it must not run into the floor's turn.
      await real.recorded(answered);
      await expectAnswers(real, values);
    });
}

export function floorStints(floor: Child, driver: Driver, servers: Readonly<Record<string, number>>): RunStint {
  return (load) =>
    stint({ processes: [{ name: "floor", child: floor }], servers, driver, load }, () => Promise.resolve());
}

interface What {
  processes: RealLoop["processes"];
  servers: Readonly<Record<string, number>>;
  driver: Driver;
  load: Load;
}

async function stint(
  { processes, servers, driver, load }: What,
  settle: (values: readonly Buffer[]) => Promise<void>,
): Promise<Stint> {
  const before = cpu(processes, servers);
  const result = await driver.run(load);
  for (const { child } of processes) child.check();
  await settle(result.values);
  const after = cpu(processes, servers);
  const spent = (part: "ours" | "servers"): Record<string, number> =>
    Object.fromEntries(Object.entries(after[part]).map(([name, s]) => [name, s - (before[part][name] ?? 0)]));
  const { latencies, seconds } = result;
  return {
    requests: latencies.length,
    seconds,
    latencies,
    cpuSeconds: { ours: spent("ours"), servers: spent("servers") },
  };
}

/** Seconds so far: of each process of ours with its name, of what it started by what that runs. */
function cpu(processes: RealLoop["processes"], servers: Readonly<Record<string, number>>): Stint["cpuSeconds"] {
  const ours: Record<string, number> = {};
  for (const { name, child } of processes)
    for (const [part, seconds] of Object.entries(cpuSecondsOfTree(child.pid))) {
      const key = part === "main" ? name : part;
      ours[key] = (ours[key] ?? 0) + seconds;
    }
  return { ours, servers: Object.fromEntries(Object.entries(servers).map(([name, pid]) => [name, cpuSeconds(pid)])) };
}

/** A refusal is quick: a benchmark of refusals would be a good one. */
async function expectAnswers({ session }: RealLoop, values: readonly Buffer[]): Promise<void> {
  for (const value of values) {
    const decoded = await session.codec.decode("responses", value);
    if (!decoded.ok) throw new Error(`an unreadable response: ${decoded.reason}`);
    const { status, error, exampleIds, degraded } = decoded.value;
    if (status !== "ok" || exampleIds.length === 0 || degraded.length > 0)
      throw new Error(`not the answer that was to be had: ${JSON.stringify({ status, error, exampleIds, degraded })}`);
  }
}
