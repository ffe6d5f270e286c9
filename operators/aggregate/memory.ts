// What the bytes for kept answers and for examples are worth at the margin: what a step more would
// have saved lately, and what a step less would have cost, both in costs of answers (1: one of the
// most expensive arm), faded by the hour as credit is. Aggregated by ClickHouse; rejects as the
// port does.
//
// Answers: whoever asks again asks for an answer that could have been kept, whether it was or not.
// The best set of so many bytes holds the keys of most repeats and cost for their bytes. Examples:
// offloads that each made possible, by what they saved; of those that were evicted nothing is
// known, so a full pool gains by a step what it would lose by one.
import { creditRetention } from "../../algorithms/gain.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { BudgetBody } from "../../policies/budget.ts";
import type { MarginalWorth, MemoryWorth } from "../learnt.ts";
import { costOfArm, faded, offloads, selectPoolBytes } from "../offloads.ts";

export interface MemoryDependencies {
  clickhouse: Pick<ClickHouse, "query">;
  /** Normalised cost of each configured arm; any other counts as the most expensive, 1. */
  costs: () => ReadonlyMap<string, number>;
  /** A use by a cheaper arm counts as an offload from this quality on. */
  offloadQuality: number;
  /** Milliseconds since the epoch. */
  clock: () => number;
}

const dayMs = 86_400_000;
/** A kept answer has so many bytes beside its texts (operators/recall/kept-answers.ts). */
const overheadBytes = 1_024;
/** A pool is kept a little below its budget (operators/evict). */
const fullFrom = 0.9;

const age = "toUnixTimestamp64Milli(created_at)";

/** Of (id, bytes, value): what lies just beyond, and within, the most valuable so many bytes. */
const margins = (items: string): string => `
  SELECT
    sumIf(value, upto > {budget:UInt64} AND upto <= {budget:UInt64} + {step:UInt64}) AS gain,
    sumIf(value, upto > {edge:UInt64} - {step:UInt64} AND upto <= {edge:UInt64}) AS loss
  FROM (
    SELECT value, sum(bytes) OVER (ORDER BY value / bytes DESC, id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS upto
    FROM (${items})
  )`;

const answers = `
  SELECT concat(asked.domain, '/', asked.key) AS id, asked.repeats * asked.cost AS value,
    toUInt64(${overheadBytes} + response.bytes + request.bytes) AS bytes
  FROM (
    SELECT domain, cache_key AS key, sum(${faded(age)}) - min(${faded(age)}) AS repeats,
      avgIf(${costOfArm("arm")}, source != 'cache') AS cost, anyIf((request_id, tenant), source != 'cache') AS made
    FROM decisions FINAL
    WHERE cache_key != '' AND created_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
    GROUP BY domain, cache_key HAVING count() > 1 AND countIf(source != 'cache') > 0
  ) AS asked
  GLOBAL INNER JOIN (
    SELECT (request_id, tenant) AS made, max(length(text)) AS bytes FROM responses
    WHERE created_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC') AND NOT duplicate AND status = 'ok' GROUP BY request_id, tenant
  ) AS response ON response.made = asked.made
  GLOBAL INNER JOIN (
    SELECT (request_id, tenant) AS made, max(arraySum(arrayMap(message -> length(message.content), messages))) AS bytes FROM requests
    WHERE created_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC') GROUP BY request_id, tenant
  ) AS request ON request.made = asked.made`;

const examples = `
  SELECT example.id AS id, ifNull(offload.sum, 0) AS value, greatest(example.bytes, 1) AS bytes
  FROM (SELECT example_id AS id, bytes FROM examples FINAL WHERE NOT deleted) AS example
  GLOBAL LEFT JOIN (${offloads(`(${costOfArm("source.source_arm")} - used.arm_cost)`)}
  ) AS offload ON offload.id = example.id`;

export function createMemoryWorth({ clickhouse, costs, offloadQuality, clock }: MemoryDependencies) {
  /** step: bytes more or less. */
  return async function memoryWorth(split: BudgetBody, step: number): Promise<MemoryWorth> {
    const now = clock();
    const common = { now, since: now - dayMs, retention: creditRetention, costs: new Map(costs()), step };
    const ask = async (sql: string, budget: number, edge: number): Promise<MarginalWorth> => {
      const parameters = { ...common, budget, edge: Math.max(edge, step), offloadQuality };
      const [row] = await clickhouse.query<MarginalWorth>(margins(sql), parameters);
      return { gain: row?.gain ?? 0, loss: row?.loss ?? 0 };
    };
    const [weight] = await clickhouse.query<{ bytes: number }>(selectPoolBytes);
    const held = Number(weight?.bytes ?? 0);
    const isFull = held >= fullFrom * split.examples;
    const responses = await ask(answers, split.responses, split.responses);
    const pool = await ask(examples, split.examples, isFull ? Math.min(held, split.examples) : split.examples);
    return {
      responses,
      examples: { gain: isFull ? Math.max(pool.gain, pool.loss) : 0, loss: pool.loss },
    };
  };
}
