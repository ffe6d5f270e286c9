// bench -- budget: one budget of bytes for kept answers and examples, its split learnt as `learn`
// does, beside fixed splits: the best of each setting and the best of all, both found in hindsight,
// and halves. Workloads are simulated, with sizes and lengths of real pairs; the worth of bytes is
// asked of a real ClickHouse that holds what record would have written.
import { existsSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { splitmix64 } from "../../algorithms/random.ts";
import { createClickHouse } from "../../connections/clickhouse/client.ts";
import { migrate } from "../../connections/clickhouse/migrate.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { BenchContext, Benchmark, Measured } from "../benchmark.ts";
import { pairedBootstrap } from "../support/bootstrap.ts";
import { dataFolder } from "../support/data-file.ts";
import { readLines, shuffled } from "../support/samples.ts";
import { onStack } from "../support/stack.ts";
import { mean, significant } from "../support/statistics.ts";
import { createLearntSplit, rules } from "./learnt.ts";
import { play } from "./play.ts";
import { drawWorkload, type Mix, type Pair } from "./workload.ts";

export const budget: Benchmark = { name: "budget", about: "one budget of bytes beside fixed splits", run };

const mixes: Readonly<Record<string, Mix>> = {
  few: { from: 0.1, to: 0.1 },
  half: { from: 0.5, to: 0.5 },
  most: { from: 0.9, to: 0.9 },
  falling: { from: 0.9, to: 0.1 },
  rising: { from: 0.1, to: 0.9 },
};
/** Of the bytes of all examples and answers. */
const totals = { scarce: 0.1, ample: 0.3 } as const;
const shares = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95];
const drift = 0.01;
const hourMs = 3_600_000;

/** Saved by each share of examples, and by the learnt split. */
interface Row {
  setting: string;
  fixed: number[];
  joint: number;
  /** Of examples, at the end. */
  share: number;
}

function run(context: BenchContext): Promise<Measured> {
  return onStack(context, join(context.folder, "..", "stack"), async ({ clickhouse: server }) => {
    const database = `budget_${randomBytes(4).toString("hex")}`;
    const whole = createClickHouse(server);
    const clickhouse = createClickHouse({ ...server, database });
    try {
      await migrate(whole, { database, ttlDays: 30 });
      return await measure(context, clickhouse);
    } finally {
      await whole.command(`DROP DATABASE IF EXISTS ${database}`);
      await Promise.all([whole.close(), clickhouse.close()]);
    }
  });
}

async function measure(context: BenchContext, clickhouse: ClickHouse): Promise<Measured> {
  const { quick, signal, checkpoints } = context;
  const size = quick ? { pairs: 300, hours: 30, seeds: 1 } : { pairs: 500, hours: 72, seeds: 2 };
  const pairs = (await realPairs()).slice(0, size.pairs);
  const settings = Object.entries(mixes).flatMap(([mix, of]) =>
    Object.entries(totals).map(([total, share]) => ({ name: `${mix} ${total}`, mix: of, share })),
  );
  const chosen = quick ? settings.filter(({ name }) => /^(falling|few) scarce$/.test(name)) : settings;
  const bar = context.progress("days of splits", chosen.length * size.seeds, "runs");
  const began = Date.now() - (size.hours + 1) * hourMs;
  const rows: Row[] = [];
  for (const { name, mix, share } of chosen)
    for (let seed = 1; seed <= size.seeds; seed++) {
      rows.push(
        await checkpoints.part(`${name}, seed ${seed}`, async () => {
          signal.throwIfAborted();
          const options = { pairs, hours: size.hours, askedAnHour: Math.floor(pairs.length / 3), mix, drift, seed };
          const workload = drawWorkload(options);
          const all = workload.questions.reduce((sum, { bytes, pair }) => sum + bytes + 1_024 + lengthOf(pair), 0);
          const bytes = Math.floor(share * all);
          const split = (examples: number) => ({
            responses: bytes - Math.floor(examples * bytes),
            examples: Math.floor(examples * bytes),
          });
          const warmUp = Math.floor(size.hours / 8);
          const fixed: number[] = [];
          for (const examples of shares) fixed.push((await play(workload, { first: split(examples), warmUp })).saved);
          const after = await createLearntSplit(clickhouse, workload, began);
          const { saved, last } = await play(workload, { first: split(0.5), warmUp, after });
          return { setting: name, fixed, joint: saved, share: last.examples / bytes };
        }),
      );
      bar.update(rows.length);
    }
  bar.finish();
  return { figures: figuresOf(rows) };
}

function figuresOf(rows: readonly Row[]): Record<string, unknown> {
  const names = [...new Set(rows.map(({ setting }) => setting))];
  const of = (setting: string): Row[] => rows.filter((row) => row.setting === setting);
  /** Mean of each share over some rows. */
  const byShare = (some: readonly Row[]): number[] => shares.map((_, i) => mean(some.map(({ fixed }) => fixed[i]!)));
  const bestOf = (some: readonly Row[]): number =>
    byShare(some).reduce((best, saved, i, all) => (saved > all[best]! ? i : best), 0);
  const one = bestOf(rows);
  const hindsight = new Map(names.map((name) => [name, bestOf(of(name))]));
  const even = shares.indexOf(0.5);
  const rivals = {
    best_split: rows.map(({ setting, fixed }) => fixed[hindsight.get(setting)!]!),
    one_split: rows.map(({ fixed }) => fixed[one]!),
    even_split: rows.map(({ fixed }) => fixed[even]!),
  };
  const joint = rows.map((row) => row.joint);
  const against = (rival: readonly number[]) => {
    const { difference, low, high } = pairedBootstrap(joint, rival, { random: splitmix64(1) });
    return { difference: significant(difference, 3), low: significant(low, 3), high: significant(high, 3) };
  };
  return {
    simulated: true,
    saved_joint: significant(mean(joint), 4),
    saved_best_split: significant(mean(rivals.best_split), 4),
    saved_one_split: significant(mean(rivals.one_split), 4),
    saved_even_split: significant(mean(rivals.even_split), 4),
    joint_less_best: against(rivals.best_split),
    joint_less_one: against(rivals.one_split),
    joint_less_even: against(rivals.even_split),
    one_split_examples: shares[one],
    runs: rows.length,
    ...{ floor: rules.floor, step: rules.step },
    settings: Object.fromEntries(
      names.map((name) => {
        const some = of(name);
        const fixed = byShare(some);
        const best = hindsight.get(name)!;
        return [
          name,
          {
            ...{ joint: significant(mean(some.map((row) => row.joint)), 4), best: significant(fixed[best]!, 4) },
            ...{ even: significant(fixed[even]!, 4), worst: significant(Math.min(...fixed), 4) },
            best_examples: shares[best],
            joint_examples: significant(mean(some.map(({ share }) => share)), 3),
          },
        ];
      }),
    ),
  };
}

/** Throws an error for people where the data is not there. */
async function realPairs(): Promise<Pair[]> {
  const file = join(dataFolder(), "gsm8k-two-models-a.jsonl");
  if (!existsSync(file)) throw new Error(`${file} is not there: set PRECEDENT_DATA to the folder that holds it`);
  const rows = await readLines<{ request: string; small: Pair; large: Pair }>(file);
  const pairs = rows.flatMap(({ request, small, large }) =>
    [small, large].map(({ response }) => ({ request, response })),
  );
  return shuffled(pairs, 1);
}

const lengthOf = ({ request, response }: Pair): number => Buffer.byteLength(request) + Buffer.byteLength(response);
