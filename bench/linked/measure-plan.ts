// Measures what a plan says, request by request, each kept when it is done; a plan that is cut
// short leaves what there is.
import { modelFile } from "../../config/models.ts";
import { createChat } from "../../connections/llama/chat.ts";
import { fingerprintOf, openLlamaModel, type OpenedModel } from "../../connections/llama/model.ts";
import type { LlamaContext } from "../../connections/llama/port.ts";
import { openScorer, type LlamaScorer } from "../../connections/llama/scorer.ts";
import type { BenchContext } from "../benchmark.ts";
import { type Loading, measureLoading } from "./loading.ts";
import { measureItem, type Measured } from "./measure.ts";
import type { Plan } from "./plan.ts";
import { measureThroughput, type Throughput } from "./throughput.ts";
import { type Chat } from "./prompts.ts";
import { loadWorkloads, type Workload } from "./workloads.ts";

const contextTokens = 8_192;
/** Eight prompts of 4,000 tokens and their answers at a time, as an arm of this concurrency has. */
const throughput = { contextTokens: 4_352, sequences: 8, contexts: 8 };

export interface SavedRuns {
  /** By workload. */
  measured: Map<string, Measured[]>;
  throughput: Record<string, Throughput[]>;
  loading: Loading[];
  /** "CPU (AMD EPYC)" */
  device: string;
  cut: boolean;
}

export type Workloads = (chat: Chat, model: OpenedModel) => Promise<(name: string) => Workload>;

/** path: GGUF file of the model. */
export async function measurePlan(
  context: BenchContext,
  plan: Plan,
  {
    path = modelFile(),
    workloads = (chat, model) => loadWorkloads(context, chat, model),
  }: { path?: string; workloads?: Workloads } = {},
): Promise<SavedRuns> {
  const { device = "cpu" } = context;
  const model = await openLlamaModel({ path, fingerprint: await fingerprintOf(path), device });
  try {
    refuseSoftware(model.facts.devices);
    return await measureAll(context, plan, model, await workloads(createChat(model), model));
  } finally {
    model.close();
  }
}

/** A GPU's interface on the CPU is slower than the CPU, and says nothing of a GPU. */
export function refuseSoftware(devices: readonly string[]): void {
  const software = devices.find((name) => /llvmpipe|SwiftShader/.test(name));
  if (software !== undefined)
    throw new Error(`${software} computes on the CPU: it is for tests, and no figure of it is recorded`);
}

async function measureAll(
  { device, checkpoints, signal, progress, note, folder }: BenchContext,
  plan: Plan,
  model: OpenedModel,
  workloadOf: (name: string) => Workload,
): Promise<SavedRuns> {
  const kept: SavedRuns = {
    measured: new Map(),
    throughput: {},
    loading: [],
    device: model.facts.devices.join(", "),
    cut: false,
  };
  let scorer: Promise<LlamaScorer> | undefined;
  const machine = {
    context: await model.openContext({ contextTokens, sequences: 1 }),
    scorer: () => (scorer ??= openScorer(model, { contextTokens })),
    vocabulary: model.facts.vocabulary,
    prefix: plan.prefix ?? true,
    onClock: device !== undefined,
    signal,
  };
  let wide: Promise<LlamaContext> | undefined;
  const bar = progress("requests under every policy", plan.parts.length, "requests");
  const throughputAfter = async (done: number): Promise<void> => {
    for (const { workload: name, ...asked } of plan.throughput.filter(({ after }) => after === done))
      kept.throughput[name] = await checkpoints.part(`throughput of ${name}`, async () => {
        const { item: itemOf, maxTokens: most } = workloadOf(name);
        const items = Array.from({ length: asked.count }, (_, i) => itemOf(i));
        const several = await (wide ??= model.openContext(throughput));
        return measureThroughput({ ...asked, items, maxTokens: most, context: several, signal });
      });
  };
  try {
    await throughputAfter(0);
    for (const [done, { workload, index, policies }] of plan.parts.entries()) {
      signal.throwIfAborted();
      const { item, maxTokens } = workloadOf(workload);
      const measured = await checkpoints.part(`${workload}/${index}`, () =>
        measureItem(item(index), policies, maxTokens, machine),
      );
      kept.measured.set(workload, [...(kept.measured.get(workload) ?? []), measured]);
      bar.update(done + 1);
      await throughputAfter(done + 1);
    }
    bar.finish();
    for (const name of plan.loading) {
      signal.throwIfAborted();
      const measuring = { workload: name, item: workloadOf(name).item(0), context: machine.context, folder, signal };
      const loaded = await checkpoints.part(`loading of ${name}`, () =>
        measureLoading({ ...measuring, layers: model.facts.layers }),
      );
      kept.loading.push(loaded);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    kept.cut = true;
    note("cut short: the figures are those of what was measured");
  } finally {
    await (await scorer)?.close();
    await machine.context.close();
    await (await wide)?.close();
  }
  return kept;
}
