// The learnt split: every simulated hour stands in ClickHouse as record would have written it. The
// worth of bytes is asked of it by the statements of learn, and the split moves by its rules.
import { memory } from "../../config/sections/memory.ts";
import { createMemoryWorth } from "../../operators/aggregate/memory.ts";
import { time } from "../../operators/decode/values.ts";
import { createSplit, measuredMs, stepOf } from "../../operators/solve/byte-budget.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { ByteBudgetBody } from "../../state/policies/byte-budget.ts";
import { costs, type Answered, type Ended } from "./play.ts";
import type { Workload } from "./workload.ts";

const tables = ["requests", "decisions", "responses", "rewards", "example_uses", "examples"];
const offloadQuality = 0.6;

/** As the configuration has them where it says nothing. */
export const rules = memory.parse({});

/**
 * The split of the hour that follows (the time between two looks). Tables are emptied first, so one
 * at a time. `began`: milliseconds since the epoch of the first hour; old rows expire.
 */
export async function createLearntSplit(
  clickhouse: ClickHouse,
  { questions }: Workload,
  began: number,
): Promise<(hour: number, ended: Ended, split: ByteBudgetBody) => Promise<ByteBudgetBody>> {
  for (const table of tables) await clickhouse.command(`TRUNCATE TABLE ${table}`);
  let now = began;
  const clock = (): number => now;
  const worthOf = createMemoryWorth({
    ...{ clickhouse, costs: () => new Map(Object.entries(costs)), offloadQuality, clock },
    caches: () => new Map(),
    windowMs: measuredMs(rules.everyMs),
  });
  const move = createSplit({ rules });

  return async function next(hour, ended, split) {
    const from = began + hour * rules.everyMs;
    now = from + rules.everyMs;
    const rows = ended.answered.map((one, i) =>
      rowsOf(one, `h${hour}-${i}`, time(from + (i * rules.everyMs) / ended.answered.length)),
    );
    for (const table of ["requests", "decisions", "responses", "rewards", "example_uses"] as const) {
      const some = rows.flatMap((row) => row[table] ?? []);
      if (some.length > 0) await clickhouse.insert(table, some);
    }
    const examples = [
      ...ended.came.map((item) => ({
        ...{ ...example(item), bytes: questions[item]!.bytes, quality: questions[item]!.quality },
        ...{ created_at: time(from), kafka_timestamp: time(from) },
      })),
      ...ended.left.map((item) => ({ ...example(item), deleted: true, kafka_timestamp: time(now) })),
    ];
    if (examples.length > 0) await clickhouse.insert("examples", examples);
    const worth = await worthOf(split, stepOf(split, rules));
    return move({ worth, before: split }).split.split;
  };

  function rowsOf({ asked, key, arm, shown }: Answered, id: string, at: string): Record<string, object[]> {
    const { pair, quality } = questions[asked.item]!;
    const common = { request_id: id, tenant, created_at: at };
    const source = arm === null ? "cache" : "generated";
    const used = { ...common, domain, arm, arm_cost: costs.small, arm_mean: quality, example_id: `e${asked.item}` };
    return {
      requests: [{ ...common, domain, messages: [{ role: "user", content: pair.request }] }],
      decisions: [{ ...common, domain, arm: arm ?? "", source, cache_key: key }],
      responses: [{ ...common, status: "ok", text: pair.response, source, arm }],
      // One that did not help was shown to the small arm, whose bad answer was then replaced.
      example_uses: shown ? [{ ...used, arm: "small" }] : [],
      rewards: shown ? [{ request_id: id, tenant, reward: asked.succeeds ? 1 : 0, weight: 1, newest_at: at }] : [],
    };
  }
}

const tenant = "acme";
const domain = "acme/all";

const example = (item: number) => ({ example_id: `e${item}`, tenant, domain, source_arm: "large" });
