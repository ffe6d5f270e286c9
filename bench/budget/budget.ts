// bench -- budget: one budget of bytes for kept answers and examples, its split learnt as `learn`
// does, beside fixed splits: the best of each setting and the best of all, both found in hindsight,
// and halves. Workloads are simulated, with sizes and lengths of real pairs; the worth of bytes is
// asked of a real ClickHouse that holds what record would have written.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { createClickHouse } from "../../connections/clickhouse/client.ts";
import { migrate } from "../../connections/clickhouse/migrate.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { BenchContext, Benchmark, Measured } from "../benchmark.ts";
import { neededFile } from "../support/data-file.ts";
import { readAnswers, shuffled } from "../support/samples.ts";
import { onStack } from "../support/stack.ts";
import { figuresOf, shares, type Row } from "./figures.ts";
import { createLearntSplit, rules } from "./learnt.ts";
import { answerBytes, play } from "./play.ts";
import { drawWorkload, type Mix } from "./workload.ts";

export const budget: Benchmark = { name: "budget", about: "one budget of bytes beside fixed splits", run };

const mixes: Readonly<Record<string, Mix>> = {
  few: { from: 0.1, to: 0.1 },
  half: { from: 0.5, to: 0.5 },
  most: { from: 0.9, to: 0.9 },
  falling: { from: 0.9, to: 0.1 },
  rising: { from: 0.1, to: 0.9 },
};
/** Byte budgets, as shares of the bytes of all examples and answers. */
const totals = { scarce: 0.1, ample: 0.3 } as const;
const drift = 0.01;

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
  const pairs = shuffled(await readAnswers(neededFile("gsm8k-two-models-a.jsonl")), 1).slice(0, size.pairs);
  const settings = Object.entries(mixes).flatMap(([mix, of]) =>
    Object.entries(totals).map(([total, share]) => ({ name: `${mix} ${total}`, mix: of, share })),
  );
  const chosen = quick ? settings.filter(({ name }) => /^(falling|few) scarce$/.test(name)) : settings;
  const bar = context.progress("days of splits", chosen.length * size.seeds, "runs");
  const began = Date.now() - (size.hours + 1) * rules.everyMs;
  const rows: Row[] = [];
  for (const { name, mix, share } of chosen)
    for (let seed = 1; seed <= size.seeds; seed++) {
      rows.push(
        await checkpoints.part(`${name}, seed ${seed}`, async () => {
          signal.throwIfAborted();
          const options = { pairs, hours: size.hours, askedAnHour: Math.floor(pairs.length / 3), mix, drift, seed };
          const workload = drawWorkload(options);
          const all = workload.questions.reduce((sum, { bytes, pair }) => sum + bytes + answerBytes(pair), 0);
          const bytes = Math.floor(share * all);
          const split = (examples: number) => ({
            responses: bytes - Math.floor(examples * bytes),
            examples: Math.floor(examples * bytes),
            caches: {},
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
  return { figures: figuresOf(rows, rules) };
}
