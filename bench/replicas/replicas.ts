// Which replica gets a request: round robin, least loaded, by prefix, by prefix within the bound.
// Three mock engines each, over real HTTP through the openai arm; all ways at the same time, with
// the same requests. The engines' times are simulated; the share of cached tokens is counted.
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { rendezvousOrder } from "../../algorithms/queueing/bounded-rendezvous.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { createArm } from "../../arms/create.ts";
import { armSchema } from "../../config/schema.ts";
import type { Piece } from "../../schemas/types.ts";
import type { BenchContext, Benchmark, Measured } from "../benchmark.ts";
import { blockTokens } from "../prefix/block-cache.ts";
import { quantile, significant } from "../support/statistics.ts";
import { startEngine, type Engine } from "./engine.ts";
import { promptsOf } from "./stream.ts";

export const replicas: Benchmark = {
  name: "replicas",
  about: "cached share and latency by how replicas are chosen, with faults",
  run,
};

type Choose = NonNullable<Parameters<typeof createArm>[1]["choose"]>;

const engine = { slots: 4, capacity: 3_000, msPerToken: 0.3, decodeMs: 20 };
const perSecond = 60;

const ways: Readonly<Record<string, () => Choose | undefined>> = {
  round_robin: () => {
    let next = 0;
    return (_key, names) => names[next++ % names.length];
  },
  least_loaded: () => (_key, names, loadOf) => names.reduce((a, b) => (loadOf(b) < loadOf(a) ? b : a)),
  prefix_hash: () => (key, names) => rendezvousOrder(key(), names)[0],
  bounded: () => undefined,
};

/** What happens to one engine after a third of the requests. */
const faults: Readonly<Record<string, (engine: Engine) => void>> = {
  nothing: () => undefined,
  slow: (one) => one.slow(5),
  killed: (one) => one.kill(),
  metrics_stop: (one) => one.stopMetrics(),
};

interface Outcome {
  hit_share: number;
  p99_ms: number;
  p50_ms: number;
  lost: number;
}

async function run({ quick, progress, signal }: BenchContext): Promise<Measured> {
  const count = quick ? 360 : 3_000;
  const prompts = promptsOf(count, splitmix64(5n));
  const bar = progress("faults", Object.keys(faults).length, "faults");
  const by: Record<string, Record<string, Outcome>> = {};
  let single: Outcome | undefined;
  for (const [fault, strike] of Object.entries(faults)) {
    signal.throwIfAborted();
    const names = Object.keys(ways);
    const under = names.map((name) =>
      play({ prompts, choose: ways[name]!(), count: 3, slots: engine.slots, strike, signal }),
    );
    // As many slots at one address, with the cache of one.
    const one =
      fault === "nothing"
        ? play({ prompts, choose: undefined, count: 1, slots: 3 * engine.slots, strike, signal })
        : undefined;
    const outcomes = await Promise.all(under);
    single ??= await one;
    by[fault] = Object.fromEntries(names.map((name, index) => [name, outcomes[index]!]));
    bar.update(Object.keys(by).length);
  }
  bar.finish();
  const columns = (fault: string) => {
    const of = (pick: (outcome: Outcome) => number) =>
      Object.fromEntries(Object.entries(by[fault]!).map(([name, outcome]) => [name, significant(pick(outcome), 3)]));
    return {
      ...{ hit_share: of((one) => one.hit_share), p99_ms: of((one) => one.p99_ms), p50_ms: of((one) => one.p50_ms) },
      lost: of((one) => one.lost),
    };
  };
  const { lost: _lost, ...healthy } = columns("nothing");
  const bounded = Object.values(by).map((outcomes) => outcomes["bounded"]!);
  return {
    figures: {
      ...healthy,
      one_replica: { hit_share: significant(single!.hit_share, 3), p99_ms: significant(single!.p99_ms, 3) },
      lost: bounded.reduce((sum, one) => sum + one.lost, 0),
      slow: columns("slow"),
      killed: columns("killed"),
      metrics_stop: columns("metrics_stop"),
      requests: count,
      per_second: perSecond,
      simulated: `times of the engines: ${engine.decodeMs} ms and ${engine.msPerToken} ms a token that is not cached, ${engine.slots} slots, ${engine.capacity} blocks of ${blockTokens} tokens`,
    },
  };
}

interface Played {
  prompts: readonly Piece[][];
  choose: Choose | undefined;
  count: number;
  slots: number;
  strike: (engine: Engine) => void;
  signal: AbortSignal;
}

async function play({ prompts, choose, count, slots, strike, signal }: Played): Promise<Outcome> {
  const engines = await Promise.all(Array.from({ length: count }, () => startEngine({ ...engine, slots })));
  const config = armSchema.parse({
    ...{ name: "mock", type: "openai", model: "mock", stream: false, concurrency: 4_096, metricsUrl: "/metrics" },
    endpoints: engines.map(({ url }) => url),
  });
  const arm = await createArm(config, { log: pino({ level: "silent" }), ...(choose && { choose }) });
  const arrivals = splitmix64(11n);
  const times: number[] = [];
  let lost = 0;
  const calls: Promise<void>[] = [];
  const began = performance.now();
  let at = 0;
  for (const [index, pieces] of prompts.entries()) {
    signal.throwIfAborted();
    if (index === Math.floor(prompts.length / 3)) strike(engines[0]!);
    at += (-Math.log(1 - arrivals()) / perSecond) * 1_000;
    await sleep(Math.max(0, at - (performance.now() - began)));
    const asked = performance.now();
    const params = { maxTokens: null, temperature: null, topP: null, seed: null, stop: [] };
    const request = { requestId: `r${index}`, pieces, params, deadline: Date.now() + 60_000 };
    calls.push(
      arm.answer(request, new AbortController().signal).then((result) => {
        if (result.kind === "answer") times.push(performance.now() - asked);
        else lost++;
      }),
    );
  }
  await Promise.all(calls);
  await arm.close();
  for (const one of engines) one.kill();
  const sum = (pick: (engine: Engine) => number): number => engines.reduce((all, one) => all + pick(one), 0);
  return {
    hit_share: sum(({ tokens }) => tokens.cached) / sum(({ tokens }) => tokens.prompt),
    ...{ p99_ms: quantile(times, 0.99), p50_ms: quantile(times, 0.5), lost },
  };
}
