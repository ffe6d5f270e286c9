// bench -- cache --only served: a request that the response cache answers beside one that an arm
// answers, in the real loop (`precedent up`, recorded arms without latency). Stints of hits alone
// and of misses alone in turn give the CPU time of each; a stint in which 30 % of the requests
// repeat an earlier one gives latencies.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { v7 as uuidv7 } from "uuid";
import { plainRequest } from "../../schemas/plain-request.ts";
import type { Response } from "../../schemas/types.ts";
import type { BenchContext, Measured } from "../benchmark.ts";
import { createDriver } from "../loop/driver.ts";
import { loadHistory } from "../loop/history.ts";
import { startRealLoop } from "../loop/system.ts";
import { cpuSecondsOfTree } from "../support/processes.ts";
import { onStack } from "../support/stack.ts";
import { median, significant } from "../support/statistics.ts";

const repeatShare = 0.3;
const inFlight = 16;

export function runServed(context: BenchContext): Promise<Measured> {
  const stack = join(context.folder, "..", "stack");
  return onStack(context, stack, ({ folder }) => measure(context, folder));
}

type Kind = "hit" | "miss" | "mixed";
interface Stint {
  hits: number[];
  misses: number[];
  cpuMs: number;
}

async function measure(context: BenchContext, stackFolder: string): Promise<Measured> {
  const { quick, signal, note } = context;
  const [rounds, seconds] = quick ? [2, 2] : [5, 6];
  const history = await loadHistory(context);
  const prefix = `cache_${randomBytes(4).toString("hex")}`;
  note("starting the stages");
  const real = await startRealLoop(context, { stackFolder, prefix, history, cache: true });
  const { kafka, codec, topic } = real.session;
  let kind: Kind = "miss";
  let asked = 0;
  const next = (): { key: string; value: Buffer } => {
    const i = asked++;
    const question = history.questions[i % history.questions.length]!;
    const repeats =
      kind === "hit" || (kind === "mixed" && Math.floor(i * repeatShare) < Math.floor((i + 1) * repeatShare));
    // The seed makes another request of it; recorded arms answer all the same.
    const params = { maxTokens: null, temperature: null, topP: null, seed: repeats ? 0 : i + 1, stop: [] };
    const request = plainRequest(question, { id: uuidv7(), createdAt: Date.now(), params });
    return { key: request.id, value: codec.encode("requests", request) };
  };
  const driver = await createDriver({
    kafka,
    requests: topic("requests"),
    responses: topic("responses"),
    next,
    signal,
  });
  let answered = 0;

  const cpuMs = (): number =>
    real.processes.reduce(
      (sum, { child }) => sum + Object.values(cpuSecondsOfTree(child.pid)).reduce((all, one) => all + one, 0) * 1_000,
      0,
    );
  const stint = async (which: Kind, load: { seconds: number; requests?: number }): Promise<Stint> => {
    kind = which;
    const before = cpuMs();
    const { latencies, values } = await driver.run({ inFlight, ...load });
    await real.recorded((answered += values.length));
    const found: Stint = { hits: [], misses: [], cpuMs: (cpuMs() - before) / values.length };
    for (const [i, value] of values.entries()) {
      const { source, status } = await responseOf(value);
      if (status !== "ok") throw new Error(`a request was answered ${status}`);
      (source === "cache" ? found.hits : found.misses).push(latencies[i]!);
    }
    return found;
  };
  async function responseOf(value: Buffer): Promise<Response> {
    const decoded = await codec.decode("responses", value);
    if (!decoded.ok) throw new Error(`an unreadable response: ${decoded.reason}`);
    return decoded.value;
  }

  try {
    // Answers every question once, so that it can be repeated, and lets the compilers see the code.
    await stint("hit", { seconds: 60, requests: 2 * history.questions.length });
    for (const which of ["miss", "hit"] as const) await stint(which, { seconds });
    const stints: Record<Kind, Stint[]> = { hit: [], miss: [], mixed: [] };
    for (let round = 0; round < rounds; round++)
      for (const which of ["miss", "hit", "mixed"] as const) stints[which].push(await stint(which, { seconds }));
    if (stints.hit.some(({ misses }) => misses.length > 0) || stints.miss.some(({ hits }) => hits.length > 0))
      throw new Error("a repeat was answered by an arm, or a new request from the cache");
    const ofMixed = (of: "hits" | "misses"): number => significant(median(stints.mixed.flatMap((one) => one[of])), 3);
    const ofCpu = (which: Kind): number => significant(median(stints[which].map((one) => one.cpuMs)), 3);
    const hits = stints.mixed.reduce((sum, one) => sum + one.hits.length, 0);
    const all = stints.mixed.reduce((sum, one) => sum + one.hits.length + one.misses.length, 0);
    return {
      part: "served",
      figures: {
        ...{ in_flight: inFlight, repeat_share: significant(hits / all, 3) },
        ...{ hit_p50_ms: ofMixed("hits"), miss_p50_ms: ofMixed("misses") },
        ...{ cpu_ms_hit: ofCpu("hit"), cpu_ms_miss: ofCpu("miss") },
      },
    };
  } finally {
    await driver.close();
    await real.stop();
  }
}
