// Requests a CPU second with several in flight: their answers are decoded together, their prompts
// one after the other. Caches are there before.
import { planRecompute } from "../../algorithms/linked-prefill/link-plan.ts";
import { parsePolicy } from "../../algorithms/linked-prefill/link-policy.ts";
import type { LlamaContext, Prompt } from "../../connections/llama/port.ts";
import { type Caches, type Convention, makeCaches } from "./caches.ts";
import type { Item } from "./prompts.ts";

export interface Throughput {
  policy: string;
  convention: Convention | null;
  in_flight: number;
  requests: number;
  per_cpu_s: number;
  per_s: number;
}

export interface ThroughputOptions {
  items: readonly Item[];
  maxTokens: number;
  convention: Convention;
  /** full among them, if it is wanted. */
  policies: readonly string[];
  inFlight: readonly number[];
  context: LlamaContext;
  signal: AbortSignal;
}

/**
 * Each number in flight answers every item, and again from the first until there were as many as
 * are in flight.
 */
export async function measureThroughput(options: ThroughputOptions): Promise<Throughput[]> {
  const { items, convention, context, signal, maxTokens } = options;
  const caches: Caches[] = [];
  for (const item of items)
    caches.push(await makeCaches(item, convention, (prompt) => context.run(prompt, { signal })));
  const rows: Throughput[] = [];
  for (const inFlight of options.inFlight) {
    for (const name of options.policies) {
      const policy = parsePolicy(name);
      if ("problem" in policy) throw new Error(policy.problem);
      const prompts = items.map(({ tokens, chunks }, i): Prompt => {
        const { blobs, chunks: known } = caches[i]!;
        const asked = { tokens, maxTokens, stop: ["\n"] };
        if (name === "full") return asked;
        return {
          ...asked,
          links: blobs.map((blob, k) => ({ blob, position: chunks[k]!.begin })),
          recompute: planRecompute(policy, known).map(([begin, end]) => ({ begin, end })),
        };
      });
      const count = Math.max(prompts.length, inFlight);
      const waiting = Array.from({ length: count }, (_, i) => prompts[i % prompts.length]!);
      const lane = async (): Promise<void> => {
        for (let prompt = waiting.shift(); prompt !== undefined; prompt = waiting.shift())
          await context.run(prompt, { signal });
      };
      const before = process.cpuUsage();
      const began = performance.now();
      await Promise.all(Array.from({ length: inFlight }, lane));
      const { user, system } = process.cpuUsage(before);
      rows.push({
        policy: name,
        convention: name === "full" ? null : convention,
        in_flight: inFlight,
        requests: count,
        per_cpu_s: count / ((user + system) / 1e6),
        per_s: count / ((performance.now() - began) / 1e3),
      });
    }
  }
  return rows;
}
