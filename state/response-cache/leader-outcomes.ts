// Outcomes that others wait for, by one statement; redacted answers are read from the topic.
import { requestKey } from "../../algorithms/identity/identity.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { SentPosition, SentResponse } from "../sent-response.ts";
import type { CachedAnswer } from "./entries.ts";

export interface LeaderOutcome {
  /** null: it was refused or failed, or its text as sent is stored nowhere any more. */
  answer: CachedAnswer | null;
  createdAt: number;
}

interface Leader {
  tenant: string;
  id: string;
  arrivedAt: number;
}

export interface LeaderOutcomes {
  /** Ended ones by requestKey(). Rejects with ClickHouseUnavailable. */
  find(leaders: readonly Leader[], now: number): Promise<ReadonlyMap<string, LeaderOutcome>>;
}

interface Row extends Omit<CachedAnswer, "arm" | "model">, Omit<SentPosition, "offset"> {
  offset: number | string;
  redacted: boolean;
  tenant: string;
  status: string;
  arm: string | null;
  model: string | null;
  createdAt: number | string;
}

const QUERY = `
  SELECT tenant, request_id AS requestId, status, text, finish_reason AS finishReason, stop_sequence AS stopSequence, arm, model,
         greatest(cost, saved_cost) AS cost, toUnixTimestamp64Milli(created_at) AS createdAt,
         redacted, topic, kafka_partition AS partition, kafka_offset AS offset
  FROM responses FINAL
  WHERE request_id IN {ids:Array(String)} AND tenant IN {tenants:Array(String)} AND NOT duplicate
    AND created_at >= fromUnixTimestamp64Milli({since:Int64})`;

/** At a time: their texts are read whole. The others' turn comes with the next look. */
const most = 256;
const skewMs = 60_000;

export function createLeaderOutcomes(clickhouse: Pick<ClickHouse, "query">, sent: SentResponse): LeaderOutcomes {
  let turn = 0;

  async function answerOf(row: Row): Promise<CachedAnswer | null> {
    const { tenant, requestId, status, text, finishReason, stopSequence, arm, model, cost, redacted } = row;
    if (status !== "ok") return null;
    const answer = { requestId, text, finishReason, stopSequence, arm: arm ?? "", model: model ?? "", cost };
    if (!redacted) return answer;
    const whole = await sent(
      { topic: row.topic, partition: row.partition, offset: Number(row.offset) },
      tenant,
      requestId,
    );
    return whole === null ? null : { ...answer, text: whole.text };
  }

  return {
    async find(leaders, now) {
      if (leaders.length === 0) return new Map();
      const from = leaders.length > most ? (turn++ * most) % leaders.length : 0;
      const asked = leaders.slice(from, from + most);
      const rows = await clickhouse.query<Row>(QUERY, {
        ids: asked.map(({ id }) => id),
        tenants: [...new Set(asked.map(({ tenant }) => tenant))],
        since: asked.reduce((least, { arrivedAt }) => Math.min(least, arrivedAt), now) - skewMs,
      });
      const outcomes = new Map<string, LeaderOutcome>();
      for (const row of rows)
        outcomes.set(requestKey(row.tenant, row.requestId), {
          answer: await answerOf(row),
          createdAt: Number(row.createdAt),
        });
      return outcomes;
    },
  };
}
