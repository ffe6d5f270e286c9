// bench -- loop: how much the loop costs beyond Kafka itself. Requests go through all stages of
// `precedent up` (two recorded arms without latency, questions embedded before, some thousand
// examples), and in turn through a floor of empty operators on the same broker.
import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { attachStack, stackStatus, stopStack } from "../../stack/attach.ts";
import { stackFolder } from "../../stack/folder.ts";
import type { BenchContext, Benchmark, Measured } from "../benchmark.ts";
import { resident } from "../support/processes.ts";
import { startChild } from "./child.ts";
import { createDriver } from "./driver.ts";
import { figuresOf, type Part } from "./figures.ts";
import { loadHistory } from "./history.ts";
import { measureLayouts } from "./layouts.ts";
import { planTimes } from "./plan-times.ts";
import { floorStints, loopStints } from "./stints.ts";
import { startRealLoop } from "./system.ts";

interface Plan {
  warmUpSeconds: number;
  parts: { inFlight: number; rounds: number; seconds: number }[];
}

const quick: Plan = {
  // As long as the full form's: by then the code is compiled, and a ratio agrees with the full
  // form's.
  warmUpSeconds: 12,
  parts: [
    { inFlight: 64, rounds: 3, seconds: 3 },
    { inFlight: 16, rounds: 1, seconds: 2 },
    { inFlight: 1, rounds: 1, seconds: 1 },
  ],
};
const full: Plan = {
  warmUpSeconds: 12,
  parts: [
    { inFlight: 64, rounds: 5, seconds: 10 },
    { inFlight: 16, rounds: 3, seconds: 10 },
    { inFlight: 1, rounds: 3, seconds: 5 },
  ],
};

export const loop: Benchmark = {
  name: "loop",
  about: "throughput, latency and CPU of the whole loop beside a floor of empty operators",
  run,
};

async function run(context: BenchContext): Promise<Measured> {
  const folder = join(context.folder, "..", "stack");
  // Topics and tables of earlier runs would only be in the way: every run starts with an empty
  // broker, unless it is shared.
  const { running } = await stackStatus(folder);
  if (!running) await rm(stackFolder(folder).data, { recursive: true, force: true });
  context.note("starting the stack");
  const stack = await attachStack(folder, { start: true });
  try {
    return await measure(context, folder, stack.brokers);
  } finally {
    // One that ran before us is somebody else's.
    if (!context.keepStack && !running) await stopStack(folder);
  }
}

async function measure(context: BenchContext, stack: string, brokers: readonly string[]): Promise<Measured> {
  const { checkpoints, signal } = context;
  const closing: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const one of closing.splice(0).reverse()) await one().catch((error: unknown) => context.note(String(error)));
  };
  try {
    const history = await loadHistory(context);
    context.note("starting the stages and the floor");
    const prefix = `loop_${randomBytes(4).toString("hex")}`;
    const floorPrefix = `${prefix}.floor.`;
    const [real, floor] = await Promise.all([
      startRealLoop(context, { stackFolder: stack, prefix, history }),
      startChild({
        arguments: [
          "--import",
          "tsx",
          fileURLToPath(new URL("./floor-process.ts", import.meta.url)),
          brokers.join(","),
          floorPrefix,
        ],
        log: join(context.folder, "floor.log"),
        profile: context.profile ? join(context.folder, "profiles") : undefined,
        signal,
      }),
    ]);
    closing.push(real.stop, floor.stop);
    const { kafka, topic } = real.session;
    const drivers = {
      loop: await createDriver({
        kafka,
        requests: topic("requests"),
        responses: topic("responses"),
        next: real.next,
        signal,
      }),
      floor: await createDriver({
        kafka,
        requests: `${floorPrefix}requests`,
        responses: `${floorPrefix}responses`,
        next: kilobyte(),
        signal,
      }),
    };
    closing.push(drivers.loop.close, drivers.floor.close);

    const plan = context.quick ? quick : full;
    const servers = await serverPids(stack);
    const stints = {
      loop: loopStints(real, drivers.loop, servers),
      floor: floorStints(floor, drivers.floor, servers),
    };
    // Embeds every question once, and lets the compilers see all of the code.
    for (const inFlight of [8, 64]) {
      await stints.loop({ inFlight, seconds: plan.warmUpSeconds / 2 });
      await stints.floor({ inFlight, seconds: plan.warmUpSeconds / 2 });
    }

    const seconds = plan.parts.reduce((sum, part) => sum + 2 * part.rounds * part.seconds, 0);
    const bar = context.progress("measuring", Math.round(seconds), "s");
    let spent = 0;
    const parts: Part[] = [];
    for (const { inFlight, rounds, seconds: each } of plan.parts) {
      const part: Part = { inFlight, rounds: [] };
      const from = Date.now();
      for (let round = 0; round < rounds; round++) {
        part.rounds.push(
          await checkpoints.part(`${inFlight} in flight, round ${round}`, async () => ({
            loop: await stints.loop({ inFlight, seconds: each }),
            floor: await stints.floor({ inFlight, seconds: each }),
          })),
        );
        bar.update((spent += 2 * each));
      }
      if (inFlight === 16) part.planMs = await checkpoints.part("plan times", () => planTimes(real, from));
      parts.push(part);
    }
    bar.finish();
    const memory = resident(real.processes[0]!.child.pid);
    const extras = { ...memory, examples: history.examples.length, questions: history.questions.length };
    if (context.quick) return figuresOf(parts, extras);
    await close();
    return figuresOf(parts, { ...extras, layouts: await measureLayouts(context, stack, history, servers) });
  } finally {
    await close();
  }
}

function kilobyte(): () => { key: string; value: Buffer } {
  const value = Buffer.alloc(1_000, "x");
  let sent = 0;
  return () => ({ key: `floor-${sent++}`, value });
}

async function serverPids(stack: string): Promise<Record<string, number>> {
  const { servers } = await stackStatus(stack);
  return Object.fromEntries(servers.flatMap(({ name, pid }) => (pid === undefined ? [] : [[name, pid]])));
}
