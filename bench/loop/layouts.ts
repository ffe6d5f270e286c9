// The same loop in other processes, for what one process can't show: the CPU of each stage alone,
// and what a second and a third process bring. Each starts anew, with topics of its own.
import { randomBytes } from "node:crypto";
import { stageNames } from "../../pipelines/up.ts";
import type { BenchContext } from "../benchmark.ts";
import { median, significant } from "../support/statistics.ts";
import { cpuByProcess, ourCpuMs, type LayoutFigures, type Stint } from "./figures.ts";
import type { History } from "./history.ts";
import { driveLoop, loopStints } from "./stints.ts";
import { startRealLoop, type Processes } from "./system.ts";

const layouts: Readonly<Record<string, Processes>> = {
  "a process a stage": Object.fromEntries(
    stageNames.filter((name) => name !== "gateway").map((name) => [name, ["--stage", name]]),
  ),
  "two processes": { first: [], second: [] },
  "three processes": { first: [], second: [], third: [] },
};

const load = { inFlight: 64, seconds: 8 };
const rounds = 2;

export async function measureLayouts(
  context: BenchContext,
  stackFolder: string,
  history: History,
  servers: Readonly<Record<string, number>>,
): Promise<Record<string, LayoutFigures>> {
  const figures: Record<string, LayoutFigures> = {};
  for (const [name, processes] of Object.entries(layouts))
    figures[name] = await context.checkpoints.part(name, async () => {
      context.note(`starting ${name}`);
      const prefix = `loop_${randomBytes(4).toString("hex")}`;
      const real = await startRealLoop(context, { stackFolder, prefix, history, processes });
      try {
        return figuresOf(await stintsOf(real, context, servers));
      } finally {
        await real.stop();
      }
    });
  return figures;
}

async function stintsOf(
  real: Awaited<ReturnType<typeof startRealLoop>>,
  { signal }: BenchContext,
  servers: Readonly<Record<string, number>>,
): Promise<Stint[]> {
  const driver = await driveLoop(real, signal);
  try {
    const run = loopStints(real, driver, servers);
    await run({ ...load, seconds: 6 });
    const stints: Stint[] = [];
    for (let round = 0; round < rounds; round++) stints.push(await run(load));
    return stints;
  } finally {
    await driver.close();
  }
}

const figuresOf = (stints: readonly Stint[]): LayoutFigures => ({
  throughput_per_s: significant(median(stints.map(({ requests, seconds }) => requests / seconds))),
  cpu_ms_per_request: significant(median(stints.map(ourCpuMs))),
  cpu_ms_by_process: cpuByProcess(stints),
  answered: stints.reduce((sum, { requests }) => sum + requests, 0),
});
