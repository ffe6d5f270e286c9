// bench -- gateway: what stands between an OpenAI client and its model. Our gateway with the whole
// system behind it, LiteLLM's proxy, Portkey's gateway and nothing at all, in turns in front of one
// model that takes 20 ms and says 40 tokens.
import { join } from "node:path";
import type { BenchContext, Benchmark, Measured } from "../benchmark.ts";
import { onStack } from "../support/stack.ts";
import type { Load } from "./client.ts";
import { figuresOf, systemNames, type Part, type Round, type SystemName, type Turn } from "./figures.ts";
import { checkOutcomes } from "./outcomes.ts";
import { peerVersions } from "./peers.ts";
import { startSystems, type Systems } from "./systems.ts";

interface Plan {
  warmUpSeconds: number;
  parts: { inFlight: number; stream: boolean; rounds: number; seconds: number }[];
}

const quick: Plan = {
  warmUpSeconds: 2,
  parts: [
    { inFlight: 64, stream: false, rounds: 2, seconds: 1 },
    { inFlight: 16, stream: false, rounds: 1, seconds: 1 },
    { inFlight: 1, stream: false, rounds: 1, seconds: 0.7 },
    { inFlight: 1, stream: true, rounds: 1, seconds: 0.7 },
    { inFlight: 16, stream: true, rounds: 1, seconds: 0.7 },
  ],
};
const full: Plan = {
  warmUpSeconds: 6,
  parts: [
    { inFlight: 64, stream: false, rounds: 5, seconds: 6 },
    { inFlight: 16, stream: false, rounds: 3, seconds: 6 },
    { inFlight: 1, stream: false, rounds: 3, seconds: 4 },
    { inFlight: 1, stream: true, rounds: 3, seconds: 4 },
    { inFlight: 16, stream: true, rounds: 3, seconds: 4 },
  ],
};

const run = (context: BenchContext): Promise<Measured> =>
  onStack(context, join(context.folder, "..", "stack"), async ({ folder }) => {
    const systems = await startSystems(context, folder);
    return measure(context, systems).finally(systems.close);
  });

export const gateway: Benchmark = {
  name: "gateway",
  parts: ["ours"],
  about: "our gateway beside LiteLLM's proxy, Portkey's gateway and direct calls",
  run,
};

async function measure(context: BenchContext, { turns, absent, outcomes }: Systems): Promise<Measured> {
  const plan = context.quick ? quick : full;
  const present = systemNames.filter((name) => turns[name] !== undefined);
  const failed: Partial<Record<SystemName, string>> = {};
  const failedLoads = new Set<string>();
  /** undefined: a peer fails under such a load, which must not cost the others' figures. */
  const turn = async (name: SystemName, load: Load): Promise<Turn | undefined> => {
    const kind = `${name}${load.stream ? " streaming" : ""}`;
    if (failedLoads.has(kind)) return undefined;
    try {
      return await turns[name]!(load);
    } catch (error) {
      if (name === "ours" || name === "direct" || context.signal.aborted) throw error;
      failedLoads.add(kind);
      failed[name] = `${kind}: ${error instanceof Error ? error.message : String(error)}`;
      context.note(failed[name]);
      return undefined;
    }
  };
  for (const [inFlight, stream] of [
    [64, false],
    [4, true],
  ] as const)
    for (const name of present) await turn(name, { inFlight, stream, seconds: plan.warmUpSeconds / 2 });

  const seconds = plan.parts.reduce((sum, part) => sum + present.length * part.rounds * part.seconds, 0);
  const bar = context.progress("measuring", Math.round(seconds), "s");
  let spent = 0;
  const parts: Part[] = [];
  for (const { inFlight, stream, rounds: count, seconds: each } of plan.parts) {
    const rounds: Round[] = [];
    for (let round = 0; round < count; round++) {
      const name = `${inFlight} in flight${stream ? ", streaming" : ""}, round ${round}`;
      const one = async (): Promise<Round> => {
        const done: Partial<Round> = {};
        for (const system of present) {
          const measured = await turn(system, { inFlight, stream, seconds: each });
          if (measured !== undefined) done[system] = measured;
        }
        return done as Round;
      };
      rounds.push(await context.checkpoints.part(name, one));
      bar.update((spent += present.length * each));
    }
    parts.push({ inFlight, stream, rounds });
  }
  bar.finish();
  const { figures, reasons = {} } = figuresOf(parts, absent, failed);
  const counted = await outcomes();
  checkOutcomes(counted);
  return {
    figures: { ...figures, ours_delivery: "exactly-once and full records", outcomes: counted, peers: peerVersions },
    reasons,
    ...(context.only === undefined ? {} : { part: context.only }),
  };
}
