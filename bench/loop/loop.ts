// bench -- loop: requests go through all stages of `precedent up` (two recorded arms without
// latency, some thousand examples): first questions that are all different, beside the embedder
// alone; then questions embedded before, queued and inline, and in turn through floors of empty
// operators on the same broker: what the loop costs beyond Kafka itself.
import { join } from "node:path";
import type { BenchContext, Benchmark, Measured } from "../benchmark.ts";
import { distinctFigures, distinctQuestions, measureDistinct, type DistinctPlan } from "./distinct.ts";
import { onStack, serverPids } from "../support/stack.ts";
import { resident } from "../support/processes.ts";
import { figuresOf, type Part, type Round, type Stint, type SystemName } from "./figures.ts";
import { loadHistory } from "./history.ts";
import { measureLayouts } from "./layouts.ts";
import { planTimes } from "./plan-times.ts";
import type { RunStint } from "./stints.ts";
import { startSystems } from "./systems.ts";

interface Plan {
  /**
   * Requests of each system before it is measured, and the seconds after which that is enough on a
   * slow machine.
   */
  warmUp: { requests: number; seconds: number };
  distinct: DistinctPlan;
  parts: { inFlight: number; rounds: number; seconds: number }[];
}

const quick: Plan = {
  // By requests, because V8 still compiles after a thousand of them. In one run, over turns of 9 s,
  // the CPU of our stages per request was 8.8 ms, then 5.8, then 4.1.
  warmUp: { requests: 4_000, seconds: 20 },
  distinct: { rounds: 2, seconds: { loop: 2.5, embedder: 1.5, one: 1 } },
  parts: [
    { inFlight: 64, rounds: 3, seconds: 2.5 },
    { inFlight: 16, rounds: 1, seconds: 2 },
    { inFlight: 1, rounds: 1, seconds: 1 },
  ],
};
const full: Plan = {
  warmUp: { requests: 5_000, seconds: 100 },
  distinct: { rounds: 3, seconds: { loop: 10, embedder: 6, one: 5 } },
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

function run(context: BenchContext): Promise<Measured> {
  const stack = join(context.folder, "..", "stack");
  return onStack(context, stack, ({ folder, brokers }) => measure(context, folder, brokers));
}

async function measure(context: BenchContext, stack: string, brokers: readonly string[]): Promise<Measured> {
  const { checkpoints } = context;
  const plan = context.quick ? quick : full;
  const history = await loadHistory(context, { distinct: distinctQuestions(plan.distinct) });
  const systems = await startSystems(context, { stack, brokers, history });
  const measured = await (async () => {
    const { stints, queued } = systems;
    const turns = Object.entries(stints) as [SystemName, RunStint][];
    // All at once: nothing is measured yet, and in turns it would take most of the quick form.
    await Promise.all(turns.map(([, run]) => warmUp(run, plan)));

    context.note("measuring questions that are all different");
    const { loop: run } = stints;
    const distinct = await measureDistinct(context, plan.distinct, { real: queued, run, questions: history.distinct });

    const seconds = plan.parts.reduce((sum, part) => sum + turns.length * part.rounds * part.seconds, 0);
    const bar = context.progress("measuring", Math.round(seconds), "s");
    let spent = 0;
    const parts: Part[] = [];
    for (const { inFlight, rounds, seconds: each } of plan.parts) {
      const part: Part = { inFlight, rounds: [] };
      const from = Date.now();
      for (let round = 0; round < rounds; round++) {
        part.rounds.push(
          await checkpoints.part(`${inFlight} in flight, round ${round}`, async () => {
            const done: Partial<Record<SystemName, Stint>> = {};
            for (const [name, run] of turns) done[name] = await run({ inFlight, seconds: each });
            return done as Round;
          }),
        );
        bar.update((spent += turns.length * each));
      }
      if (inFlight === 16) part.planMs = await checkpoints.part("plan times", () => planTimes(queued, from));
      parts.push(part);
    }
    bar.finish();
    return { distinct, parts, memory: resident(queued.processes[0]!.child.pid) };
  })().finally(systems.close);

  const { distinct, parts, memory } = measured;
  const extras = {
    ...memory,
    distinct: distinctFigures(distinct),
    examples: history.examples.length,
    questions: history.questions.length,
  };
  if (context.quick) return figuresOf(parts, extras);
  return figuresOf(parts, {
    ...extras,
    layouts: await measureLayouts(context, stack, history, await serverPids(stack)),
  });
}

/**
 * Embeds every question once, and lets the compilers see all of the code. In one go: after every
 * load, seconds pass until all of it is recorded.
 */
const warmUp = (run: RunStint, { warmUp: load }: Plan): Promise<Stint> => run({ inFlight: 64, ...load });
