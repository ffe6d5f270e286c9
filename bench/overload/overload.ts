// bench -- overload: arrivals that rise to twice what the expensive arm can take and fall again,
// through the real stages. The router that looks at the load, beside the same learnt policy that
// does not (quality_only), the share of the expensive arm that quality alone chose in peace, drawn
// by a coin (fixed), and the cheap arm alone (small_only). The answers are of two real models and
// their quality is known; how long an answer takes is simulated (data.ts).
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { BenchContext, Benchmark, Measured } from "../benchmark.ts";
import { readDataFile } from "../support/data-file.ts";
import { shuffled } from "../support/samples.ts";
import { onStack } from "../support/stack.ts";
import { mean } from "../support/statistics.ts";
import { arrivalsOf, parseTrace } from "./arrivals.ts";
import { loadQuestions, type ArmName, type Question } from "./data.ts";
import { figuresOf, phases, type PolicyFigures } from "./figures.ts";
import { askAll, withClient, type Asked, type Place } from "./run.ts";

const seed = 20_261_123;
const concurrency = { small: 4, large: 4 };
/** Load as a multiple of the expensive arm's capacity, by phase. */
const loads = { before: 0.5, during: 2, after: 0.5 };
/** The load is an average with a half-life of 10 s: what is shorter, the router hardly sees. */
const seconds = { quick: { before: 8, during: 20, after: 12 }, full: { before: 40, during: 40, after: 60 } };

export const overload: Benchmark = {
  name: "overload",
  about: "arrivals at twice the expensive arm's capacity and back: latency, quality and share of the arms",
  async run(context) {
    const questions = await loadQuestions(context.data);
    const { text, file } = await readDataFile(undefined, "azure-llm-conv-2023.csv");
    const times = parseTrace(text, file);
    return onStack(context, join(context.folder, "..", "stack"), ({ folder }) =>
      measure(context, { questions, times, stackFolder: folder }),
    );
  },
};

interface Given {
  questions: readonly Question[];
  times: readonly number[];
  stackFolder: string;
}

async function measure(context: BenchContext, { questions, times, stackFolder }: Given): Promise<Measured> {
  const { quick, folder, signal, note } = context;
  const name = `bench_${randomBytes(4).toString("hex")}`;
  const place: Place = { name, stackFolder, file: join(folder, "answers.jsonl"), signal };
  await writeFile(place.file, questions.flatMap(linesOf).join("\n"));
  const order = shuffled(questions, seed);
  const warm = order.splice(0, quick ? 100 : 250);
  note(`learning from ${warm.length} rewarded answers`);
  await learn(place, warm);

  // In peace, with every question going to the expensive arm: how many a second it can take.
  const capacity = (1_000 * concurrency.large) / mean(order.map(({ answers }) => answers.large.latencyMs));
  const lasting = quick ? seconds.quick : seconds.full;
  const arrivals = arrivalsOf(
    times,
    phases.map((phase) => ({ name: phase, seconds: lasting[phase], rate: loads[phase] * capacity })),
  );
  const asked = arrivals.map((arrival, i): Asked => ({ ...arrival, question: order[i % order.length]! }));
  const under = async (title: string, loadAware: boolean, only?: () => ArmName): Promise<PolicyFigures> => {
    note(`${title}: ${asked.length} requests in ${phases.reduce((sum, phase) => sum + lasting[phase], 0)} s`);
    const setting = { stages: ["plan", "generate"] as const, concurrency, loadAware };
    const all = asked.map((one) => ({ ...one, arm: only?.() }));
    return figuresOf(await withClient(place, setting, (client) => askAll(client, all, { reward: false, signal })));
  };
  const quality_only = await under("by quality alone", false);
  const random = splitmix64(seed);
  const coin = (): ArmName => (random() < quality_only.dear_share.before ? "large" : "small");
  const fixed = await under("a fixed share", false, coin);
  const small_only = await under("the cheap arm alone", false, () => "small");
  const ours = await under("by quality and load", true);
  return {
    figures: {
      ...ours,
      ...{ fixed, quality_only, small_only },
      capacity_per_s: Number(capacity.toFixed(2)),
      learnt_from: warm.length,
      seconds_by_phase: lasting,
      latency: "simulated: 5 ms a token of the large arm's answer, 1 ms of the small one's, 4 at a time each",
    },
  };
}

const linesOf = ({ request, answers }: Question): string[] =>
  (["small", "large"] as const).map((arm) => {
    const { response, latencyMs } = answers[arm];
    return JSON.stringify({ request, arm, response, latencyMs });
  });

/** Asks ten a second and rewards every answer with its quality; the policy stays published. */
async function learn(place: Place, questions: readonly Question[]): Promise<void> {
  const setting = {
    ...{ stages: ["plan", "generate", "record", "learn"] as const, loadAware: false },
    concurrency: { small: 64, large: 64 },
  };
  const asked = questions.map((question, i): Asked => ({ question, phase: "learning", atMs: 100 * i }));
  await withClient(place, setting, async (client) => {
    const outcomes = await askAll(client, asked, { reward: true, signal: place.signal });
    const without = outcomes.filter(({ arm }) => arm === null).length;
    if (without > 0) throw new Error(`${without} of ${outcomes.length} requests to learn from were not answered`);
    // The last rewards shall be in the policy.
    await sleep(2_000, undefined, { signal: place.signal });
  });
}
