// The response cache's policies on every setting of the specification: what the answers cost that
// had to be made anew. The policies alone, without Kafka or models; CPU time a request beside it.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { mostCalls } from "./vsocb.ts";
import type { BenchContext, Benchmark, Measured } from "../benchmark.ts";
import { median, significant } from "../support/statistics.ts";
import { fixtureErrors, fixtureVsocb, readFixture } from "./fixture.ts";
import { dataFolder } from "../support/data-file.ts";
import { defaultPolicy, policies } from "./policies.ts";
import { runRegret } from "./regret.ts";
import { runServed } from "./served.ts";
import { realSettings, syntheticSettings, type Setting } from "./settings.ts";
import { play, type Stream } from "./stream.ts";
import { fixtureStream, largeStream } from "./synthetic.ts";

export const cache: Benchmark = {
  name: "cache",
  about: "what the policies of the response cache pay, by setting",
  parts: ["served", "regret"],
  run,
};

const served = "needs the servers: --only served measures";

type Costs = Record<string, number | null>;

/** With more different queries than this vsocb is not measured: its oracle is asked too often. */
const oracleQueries = (quick: boolean): number => (quick ? 200 : 1_000);

async function run(context: BenchContext): Promise<Measured> {
  if (context.only === "served") return runServed(context);
  if (context.only === "regret") return runRegret(context);
  const { quick, data, signal } = context;
  const reasons: Record<string, string> = {};
  const real = data ?? join(dataFolder(), "gsm8k-two-models-a.jsonl");
  const settings = [...syntheticSettings, ...(existsSync(real) ? await realSettings(real) : [])];
  if (!existsSync(real)) context.note(`${real} is not there: the settings with real lengths are left out`);

  const bar = context.progress("policies by setting", settings.length, "settings");
  const costs: Record<string, Costs> = {};
  for (const [done, setting] of settings.entries()) {
    signal.throwIfAborted();
    costs[setting.name] = paid(setting, quick);
    bar.update(done + 1);
    await new Promise((resolve) => setImmediate(resolve));
  }
  bar.finish();

  const runs = await readFixture();
  const errors = runs === null ? null : fixtureErrors(quick ? runs.slice(0, 3) : runs);
  if (errors === null) reasons.fixture_error = "cache-fixture.json is not there: set PRECEDENT_DATA to its folder";
  reasons.settings = `vsocb asks its oracle too often with more than ${oracleQueries(quick)} queries; the optimum is known where nothing changes: null elsewhere`;

  return {
    figures: {
      fixture_error: errors === null ? null : Math.max(...Object.values(errors)),
      fixture_errors: errors,
      default: defaultPolicy,
      ...Object.fromEntries(
        ["lecm", "lec1", "gdsf"].map((other) => [`gmean_vs_${other}`, geometricMean(costs, other)]),
      ),
      worst_stationary: worstStationary(settings, costs),
      ...oracle(),
      ...(await speed(context)),
      ...{ hit_p50_ms: null, cpu_ms_hit: null, cpu_ms_miss: null },
      settings: costs,
    },
    reasons: { ...reasons, hit_p50_ms: `${served} hit_p50_ms, cpu_ms_hit and cpu_ms_miss` },
  };
}

function paid(setting: Setting, quick: boolean): Costs {
  const streams = setting.streams(quick);
  return Object.fromEntries(
    Object.entries(policies).map(([name, make]) => {
      let sum: number | null = 0;
      for (const stream of streams) {
        const policy = make(stream, oracleQueries(quick));
        sum = policy === null || sum === null ? null : sum + play(stream, policy).cost;
      }
      return [name, sum === null ? null : significant(sum / streams.length, 6)];
    }),
  );
}

/** Geometric mean of the default policy's cost over another's, over all settings. */
function geometricMean(costs: Record<string, Costs>, other: string): number {
  const logs = Object.values(costs).map((setting) => Math.log(setting[defaultPolicy]! / setting[other]!));
  return significant(Math.exp(logs.reduce((sum, log) => sum + log, 0) / logs.length));
}

/** The default policy's cost over that of the best policy, at worst, where nothing changes. */
function worstStationary(
  settings: readonly Setting[],
  costs: Record<string, Costs>,
): { setting: string; ratio: number } {
  const ratios = settings
    .filter(({ stationary }) => stationary)
    .map(({ name }) => {
      const { optimum: _, ...learning } = costs[name]!;
      const best = Math.min(...Object.values(learning).filter((cost) => cost !== null));
      return { setting: name, ratio: significant(costs[name]![defaultPolicy]! / best) };
    });
  return ratios.reduce((worst, one) => (one.ratio > worst.ratio ? one : worst));
}

/** How often the paper's policy asks its oracle on the paper's stream, and its bound. */
function oracle(): { oracle_calls: number; oracle_bound: number } {
  const stream = fixtureStream(1);
  const policy = fixtureVsocb(stream, { scale: 0 });
  play(stream, policy);
  const bound = mostCalls({ rounds: stream.queries.length, queries: stream.sizes.length, alpha: 0.5 });
  return { oracle_calls: policy.calls(), oracle_bound: Math.floor(bound) };
}

/** CPU microseconds a request, of the policy and of the loop that drives it; rounds interleaved. */
async function speed({ quick, signal }: BenchContext): Promise<Record<string, unknown>> {
  const stream = largeStream(1, { rounds: quick ? 60_000 : 300_000 });
  const names = [defaultPolicy, "lecm", "gdsf", "lru"];
  const times: Record<string, number[]> = {};
  for (let round = 0; round < (quick ? 3 : 7); round++)
    for (const name of names) {
      signal.throwIfAborted();
      const measured = microseconds(stream, name);
      if (round > 0) (times[name] ??= []).push(measured); // the first one warms up
      await new Promise((resolve) => setImmediate(resolve));
    }
  const all = times[defaultPolicy]!;
  return {
    us_per_request: significant(median(all), 3),
    us_per_request_range: [Math.min(...all), Math.max(...all)].map((value) => significant(value, 3)),
    us_per_request_by_policy: Object.fromEntries(names.map((name) => [name, significant(median(times[name]!), 3)])),
  };
}

function microseconds(stream: Stream, name: string): number {
  const policy = policies[name]!(stream, 0)!;
  const began = process.cpuUsage();
  play(stream, policy);
  const { user, system } = process.cpuUsage(began);
  return (user + system) / stream.queries.length;
}
