// What the bytes for kept answers, examples and chunk caches are worth at the margin: what a step
// more would have saved lately, and what a step less would have cost, both in costs of answers (1:
// one of the most expensive arm). Aggregated by ClickHouse; rejects as the port does.
//
// Out of sample: what has its place by what was known before a cut is worth what it did after it.
// Ranked by what it is then measured by, the margin would always seem worthless.
//
// Answers: whoever asks again asks for an answer that could have been kept, whether it was or not.
// A kept answer is one less that examples are needed for: where both could have served, their bytes
// are free for other examples. Examples: offloads that each made possible, by what they saved; of
// those that were evicted nothing is known, so a full pool gains by a step what it would lose by
// one.
//
// Chunk caches: tokens that the arm's processes counted
// (algorithms/linked-prefill/cache-margin.ts), at what the prefill of a token takes of the time of
// an answer.
import { creditRetention } from "../../algorithms/routing/gain.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { ByteBudgetBody } from "../../state/policies/byte-budget.ts";
import type { MarginalWorth, MemoryWorth } from "../learnt.ts";
import { costOfArm, faded, fadedUse, offloads, selectPoolBytes } from "../offloads.ts";

export interface MemoryDependencies {
  clickhouse: Pick<ClickHouse, "query">;
  /** Normalised cost of each configured arm; any other counts as the most expensive, 1. */
  costs: () => ReadonlyMap<string, number>;
  /** A use by a cheaper arm counts as an offload from this quality on. */
  offloadQuality: number;
  /** From the cut to now; less than a day. */
  windowMs: number;
  /**
   * By arm: tokens of chunk caches in `windowMs` that a step more would have kept and a step less
   * have evicted, as far as they are known.
   */
  caches: () => ReadonlyMap<string, TokenMargin>;
  /** Milliseconds since the epoch. */
  clock: () => number;
}

export interface TokenMargin {
  gainTokens: number;
  lossTokens: number;
}

const dayMs = 86_400_000;
/** A kept answer has so many bytes beside its texts (state/response-cache/entries.ts). */
const overheadBytes = 1_024;
/** A pool is kept a little below its budget (operators/evict). */
const fullFrom = 0.9;
/** What a key asked once is worth beside its repeats: most are never asked again. */
const onceCounts = 0.05;

const age = "toUnixTimestamp64Milli(created_at)";

/**
 * Of (id, bytes, value, worth): in order of the value before the cut for their bytes, what those
 * just beyond, and just within, so many bytes were worth after it.
 */
const margins = (items: string): string => `
  SELECT
    sumIf(worth, upto > {budget:UInt64} AND upto <= {budget:UInt64} + {step:UInt64}) AS gain,
    sumIf(worth, upto > {edge:UInt64} - {step:UInt64} AND upto <= {edge:UInt64}) AS loss
  FROM (
    SELECT worth, sum(bytes) OVER (ORDER BY value / bytes DESC, id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS upto
    FROM (${items})
  )`;

const before = (at = "created_at"): string => `${at} < fromUnixTimestamp64Milli({cut:Int64}, 'UTC')`;

const answers = `
  SELECT concat(asked.domain, '/', asked.key) AS id, asked.value * asked.cost AS value, asked.after * asked.cost AS worth,
    toUInt64(${overheadBytes} + response.bytes + request.bytes) AS bytes
  FROM (
    SELECT domain, cache_key AS key, avgIf(${costOfArm("arm")}, source != 'cache') AS cost,
      sumIf(${faded(age)}, ${before()}) AS asks,
      asks - minIf(${faded(age)}, ${before()}) + ${onceCounts} * asks AS value,
      countIf(NOT ${before()}) AS after,
      anyIf((request_id, tenant), source != 'cache') AS made
    FROM decisions FINAL
    WHERE cache_key != '' AND created_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
    GROUP BY domain, cache_key HAVING countIf(${before()}) > 0 AND countIf(source != 'cache') > 0
  ) AS asked
  GLOBAL INNER JOIN (
    SELECT (request_id, tenant) AS made, max(length(text)) AS bytes FROM responses
    WHERE created_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC') AND NOT duplicate AND status = 'ok' GROUP BY request_id, tenant
  ) AS response ON response.made = asked.made
  GLOBAL INNER JOIN (
    SELECT (request_id, tenant) AS made, max(arraySum(arrayMap(message -> length(message.content), messages))) AS bytes FROM requests
    WHERE created_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC') GROUP BY request_id, tenant
  ) AS request ON request.made = asked.made`;

const saved = `(${costOfArm("source.source_arm")} - used.arm_cost)`;

const examples = `
  SELECT example.id AS id, ifNull(offload.past, 0) + ${faded("toUnixTimestamp64Milli(example.created_at)")} * example.quality AS value,
    ifNull(offload.recent, 0) AS worth, greatest(example.bytes, 1) AS bytes
  FROM (SELECT example_id AS id, bytes, quality, created_at FROM examples FINAL WHERE NOT deleted) AS example
  GLOBAL LEFT JOIN (${offloads({
    past: `${fadedUse} * ${saved} * (${before("used.created_at")})`,
    recent: `${saved} * (NOT ${before("used.created_at")})`,
  })}
  ) AS offload ON offload.id = example.id`;

/**
 * Of the answers after the cut that examples were shown for, the share that could have been kept:
 * all of a key but its first.
 */
const overlap = `
  SELECT sum(shown - first) / greatest(sum(shown), 1) AS share
  FROM (
    SELECT countIf(with_examples) AS shown, argMin(with_examples, created_at) AS first
    FROM (
      SELECT domain, cache_key, created_at, source != 'cache' AND NOT ${before()} AND (request_id, tenant) GLOBAL IN (
        SELECT request_id, tenant FROM example_uses WHERE NOT ${before()}) AS with_examples
      FROM decisions FINAL WHERE cache_key != '' AND created_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
    )
    GROUP BY domain, cache_key
  )`;

/**
 * By arm: what share of an answer's time, and so of its cost, the prefill of one token is. Of the
 * tokens that a cache is there of, some are computed all the same: they save nothing.
 */
const tokenShares = `
  SELECT assumeNotNull(arm) AS name,
    sum(prefill_ms) / sum(computed) / avg(answer_ms) * if(sum(cached) = 0, 1, sum(linked_tokens) / sum(cached)) AS share
  FROM (
    SELECT arm, linked_tokens, assumeNotNull(first_token_ms) - plan_ms - queue_ms AS prefill_ms,
      total_ms - plan_ms - queue_ms AS answer_ms, prefilled_tokens + recomputed_tokens AS computed,
      linked_tokens + recomputed_tokens AS cached
    FROM responses FINAL
    WHERE created_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC') AND NOT duplicate AND status = 'ok'
      AND source = 'generated' AND arm IN {arms:Array(String)} AND first_token_ms IS NOT NULL
  )
  GROUP BY arm HAVING sum(computed) > 0 AND sum(prefill_ms) > 0 AND avg(answer_ms) > 0`;

export function createMemoryWorth(dependencies: MemoryDependencies) {
  const { clickhouse, costs, offloadQuality, windowMs, caches, clock } = dependencies;

  async function worthOfCaches(split: ByteBudgetBody, since: number): Promise<MemoryWorth["caches"]> {
    const arms = Object.keys(split.caches);
    if (arms.length === 0) return {};
    const shares = await clickhouse.query<{ name: string; share: number }>(tokenShares, { since, arms });
    const [counted, costOf] = [caches(), costs()];
    return Object.fromEntries(
      shares.flatMap(({ name, share }) => {
        const margin = counted.get(name);
        if (margin === undefined) return [];
        const cost = share * (costOf.get(name) ?? 1);
        return [[name, { gain: cost * margin.gainTokens, loss: cost * margin.lossTokens }]];
      }),
    );
  }

  /** step: bytes more or less. */
  return async function memoryWorth(split: ByteBudgetBody, step: number): Promise<MemoryWorth> {
    const now = clock();
    const common = {
      now,
      cut: now - windowMs,
      since: now - dayMs,
      retention: creditRetention,
      costs: new Map(costs()),
      step,
    };
    const ask = async (sql: string, budget: number, edge: number): Promise<MarginalWorth> => {
      const parameters = { ...common, budget, edge: Math.max(edge, step), offloadQuality };
      const [row] = await clickhouse.query<MarginalWorth>(margins(sql), parameters);
      return { gain: row?.gain ?? 0, loss: row?.loss ?? 0 };
    };
    const [weight] = await clickhouse.query<{ bytes: number }>(selectPoolBytes);
    const held = Number(weight?.bytes ?? 0);
    const isFull = held >= fullFrom * split.examples;
    // Or was so before the last step, which it has not filled yet.
    const fills = held >= fullFrom * (split.examples - step);
    const responses = await ask(answers, split.responses, split.responses);
    const pool = await ask(examples, split.examples, fills ? Math.min(held, split.examples) : split.examples);
    const [shared] = await clickhouse.query<{ share: number }>(overlap, common);
    const freed = pool.loss * (shared?.share ?? 0);
    return {
      responses: { gain: responses.gain + freed, loss: responses.loss + freed },
      examples: { gain: isFull ? Math.max(pool.gain, pool.loss) : 0, loss: pool.loss },
      caches: await worthOfCaches(split, common.since),
    };
  };
}
