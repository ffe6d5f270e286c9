// The stream of nl2bash against a real llama-server, through the openai arm: each way of ordering
// examples has a server of its own, and all ways get a request one after the other, so that a busy
// machine slows all of them. Cached tokens are those that the server reports.
import pino from "pino";
import { createArm } from "../../arms/create.ts";
import { templates } from "../../arms/templates.ts";
import { armSchema } from "../../config/schema.ts";
import { modelFile } from "../../config/models.ts";
import type { BenchContext } from "../benchmark.ts";
import { mean, median, significant } from "../support/statistics.ts";
import { startLlamaServer } from "./llama-server.ts";
import { systemOf } from "./prompts.ts";
import { choices, type Candidate, type Way } from "./simulate.ts";
import type { Stream } from "./streams.ts";

/** Requests that fill prefix memory and use counts before the first one is sent. */
const before = 800;
const requestsOf = { quick: 8, full: 60 };
const slots = 4;
const flags = ["--parallel", String(slots), "--ctx-size", String(slots * 4_096)];

interface Setting {
  way: Way;
  bonus: number;
  /** The server keeps prompts in memory besides those of its slots, as it does by default. */
  keepsPrompts: boolean;
}

const settings: readonly Setting[] = [
  { way: "best_last", bonus: 0, keepsPrompts: true },
  { way: "frequency", bonus: 0, keepsPrompts: true },
  // As served.
  { way: "shared_prefix", bonus: 0.02, keepsPrompts: true },
  { way: "best_last", bonus: 0, keepsPrompts: false },
  { way: "shared_prefix", bonus: 0.02, keepsPrompts: false },
];

interface Row extends Record<string, unknown> {
  way: Way;
  bonus: number;
  cache_ram: "default" | "off";
  /** Share of the prompt tokens. */
  cached: number;
  ttft_p50_ms: number;
  ttft_mean_ms: number;
  /** Ratio to best_last with the same server. */
  cached_ratio: number;
  ttft_ratio: number;
}

export interface RealEngine {
  model: string;
  slots: number;
  requests: number;
  rows: Row[];
}

interface Played {
  prompt: number;
  cached: number;
  firstTokenMs: number;
}

/** program: llama-server. stream: of nl2bash, longer than `before`. */
export async function playRealEngine(context: BenchContext, stream: Stream, program: string): Promise<RealEngine> {
  const model = modelFile();
  const count = context.quick ? requestsOf.quick : requestsOf.full;
  const lanes: Lane[] = [];
  const played: Played[][] = settings.map(() => []);
  const bar = context.progress("llama-server", count, "requests of each order");
  try {
    for (const setting of settings) lanes.push(await openLane(stream, setting, program, model));
    for (let i = 0; i < count; i++) {
      for (const [l, lane] of lanes.entries()) played[l]!.push(await lane.ask(before + i, context.signal));
      bar.update(i + 1);
    }
    bar.finish();
  } finally {
    await Promise.all(lanes.map((lane) => lane.close()));
  }
  const shares = played.map((all) => mean(all.map(({ cached }) => cached)) / mean(all.map(({ prompt }) => prompt)));
  const times = played.map((all) => mean(all.map(({ firstTokenMs }) => firstTokenMs)));
  const rows = settings.map(({ way, bonus, keepsPrompts }, i): Row => {
    const base = settings.findIndex((one) => one.way === "best_last" && one.keepsPrompts === keepsPrompts);
    return {
      ...{ way, bonus, cache_ram: keepsPrompts ? "default" : "off", cached: significant(shares[i]!) },
      ttft_p50_ms: significant(median(played[i]!.map(({ firstTokenMs }) => firstTokenMs))),
      ttft_mean_ms: significant(times[i]!),
      cached_ratio: significant(shares[i]! / shares[base]!),
      ttft_ratio: significant(times[i]! / times[base]!),
    };
  });
  return { model: model.slice(model.lastIndexOf("/") + 1), slots, requests: count, rows };
}

interface Lane {
  ask(index: number, signal: AbortSignal): Promise<Played>;
  close(): Promise<void>;
}

async function openLane(
  stream: Stream,
  { way, bonus, keepsPrompts }: Setting,
  program: string,
  model: string,
): Promise<Lane> {
  const { chosen } = choices(stream, { way, bonus, processes: 1 });
  const server = await startLlamaServer(program, model, [...flags, ...(keepsPrompts ? [] : ["--cache-ram", "0"])]);
  const config = armSchema.parse({ name: "real", type: "openai", model: "real", baseUrl: server.url, retries: 0 });
  const arm = await createArm(config, { log: pino({ level: "silent" }) });

  return {
    async ask(index: number, signal: AbortSignal): Promise<Played> {
      const pieces = templates["chat-turns"].pieces({
        messages: [{ role: "user", content: stream.questions[index]! }],
        system: systemOf[stream.name],
        examples: chosen[index]!.map((one: Candidate) => ({ id: one.id, ...stream.pool[one.index]! })),
      });
      const params = { maxTokens: 1, temperature: 0, topP: null, seed: 1, stop: [] };
      const request = { requestId: String(index), pieces, params, deadline: Date.now() + 600_000 };
      const result = await arm.answer(request, signal);
      if (result.kind === "failure") throw new Error(`llama-server: ${result.code}: ${result.message}`);
      const { prompt, cached, estimated } = result.usage;
      if (estimated || result.firstTokenMs === null) throw new Error("llama-server reports no tokens");
      return { prompt, cached, firstTokenMs: result.firstTokenMs };
    },
    async close(): Promise<void> {
      await arm.close();
      await server.stop();
    },
  };
}
