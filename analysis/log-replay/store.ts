// The log of a log replay in its own database, complete before it begins, numbered by time; answers
// from a request's rows, else an arm's first answer to the same request.
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import {
  storedRow,
  type LoggedAnswer,
  type LoggedRequest,
  type LogRow,
  type Replayed,
} from "../../state/log-replay-row.ts";

/** A log replay of more is several. */
const mostRows = 5_000_000;
/** Approximate size of one INSERT. */
const batchBytes = 4 * 1_048_576;

const tables = {
  log: `position UInt64, at Int64, request_id String, tenant String, domain String, same String, request String, load Float64,
    saturation Map(String, Float64), arm String, answer String, has_text Bool, reward Nullable(Float64), propensity Nullable(Float64)`,
  log_requests: `ordinal UInt64, at Int64, request_id String, tenant String, domain String, same String, request String,
    load Float64, saturation Map(String, Float64)`,
  log_answers: `ordinal UInt64, arm String, own Bool, answer String, has_text Bool, reward Nullable(Float64), propensity Nullable(Float64)`,
};
const orderOf = { log: "position", log_requests: "ordinal", log_answers: "(ordinal, arm)" };

/** Reads all rows into the tables. Rejects when there are none, or too many. */
export async function storeLog(
  clickhouse: ClickHouse,
  rows: AsyncIterable<readonly LogRow[]>,
  { signal, onProgress }: { signal: AbortSignal; onProgress: (rows: number) => void },
): Promise<void> {
  for (const [name, columns] of Object.entries(tables)) {
    await clickhouse.command(`DROP TABLE IF EXISTS ${name}`);
    await clickhouse.command(
      `CREATE TABLE ${name} (${columns}) ENGINE = MergeTree ORDER BY ${orderOf[name as keyof typeof tables]}`,
    );
  }
  let position = 0;
  for await (const some of rows) {
    let stored: object[] = [];
    let bytes = 0;
    const insert = async (): Promise<void> => {
      signal.throwIfAborted();
      await clickhouse.insert("log", stored);
      onProgress(position);
      [stored, bytes] = [[], 0];
    };
    for (const row of some) {
      const one = storedRow(row, position++);
      if (position > mostRows) throw new Error(`the log has more than ${mostRows} rows: replay a shorter window`);
      stored.push(one);
      bytes += one.request.length + one.answer.length;
      if (bytes >= batchBytes) await insert();
    }
    if (stored.length > 0) await insert();
  }
  if (position === 0) throw new Error("the log holds no request of the window");
  // Several rows of a request are one request with several answers.
  await clickhouse.command(`
    INSERT INTO log_requests
    SELECT row_number() OVER (ORDER BY first_at, request_id, tenant) - 1, first_at, request_id, tenant, first_record.1, first_record.2, first_record.3, first_record.4, first_record.5
    FROM (
      SELECT request_id, tenant, min(at) AS first_at, argMin((domain, same, request, load, saturation), position) AS first_record
      FROM log GROUP BY request_id, tenant
    )`);
  await clickhouse.command(`
    INSERT INTO log_answers
    SELECT ordinal, arm, own, answer, has_text, reward, propensity FROM (
      SELECT asked.ordinal AS ordinal, known.arm AS arm, true AS own, known.answer AS answer, known.has_text AS has_text,
             known.reward AS reward, known.propensity AS propensity, known.position AS position
      FROM (SELECT * FROM log WHERE arm != '') AS known
      INNER JOIN log_requests AS asked ON asked.request_id = known.request_id AND asked.tenant = known.tenant
      UNION ALL
      SELECT asked.ordinal, known.arm, false, known.first_record.1, true, known.first_record.2, NULL, known.first_position
      FROM (
        SELECT same, arm, argMin((answer, reward), position) AS first_record, min(position) AS first_position
        FROM log WHERE has_text GROUP BY same, arm
      ) AS known
      INNER JOIN log_requests AS asked ON asked.same = known.same
    )
    ORDER BY ordinal, arm, own AND has_text DESC, own DESC, position LIMIT 1 BY ordinal, arm`);
}

export interface LogSpan {
  requests: number;
  /** Logged times of the first and the last request, milliseconds since the epoch. */
  from: number;
  to: number;
}

export async function spanOf(clickhouse: Pick<ClickHouse, "query">): Promise<LogSpan> {
  const [row] = await clickhouse.query<LogSpan>(
    "SELECT count() AS requests, min(at) AS from, max(at) AS to FROM log_requests",
  );
  return row ?? { requests: 0, from: 0, to: 0 };
}

interface PageRow {
  request: string;
  load: number;
  saturation: Record<string, number>;
  arms: string[];
  answers: string[];
}

/** Requests [from, to) in the order of their time, all times moved by `shift` milliseconds. */
export async function readPage(
  clickhouse: Pick<ClickHouse, "query">,
  { from, to, shift }: { from: number; to: number; shift: number },
): Promise<Replayed[]> {
  const rows = await clickhouse.query<PageRow>(
    `SELECT request, load, saturation, known.arms AS arms, known.answers AS answers
     FROM (SELECT * FROM log_requests WHERE ordinal >= {from:UInt64} AND ordinal < {to:UInt64}) AS asked
     LEFT JOIN (
       SELECT ordinal, groupArray(arm) AS arms, groupArray(answer) AS answers
       FROM log_answers WHERE ordinal >= {from:UInt64} AND ordinal < {to:UInt64} GROUP BY ordinal
     ) AS known ON known.ordinal = asked.ordinal
     ORDER BY asked.ordinal`,
    { from, to },
  );
  return rows.map(({ request, load, saturation, arms, answers }) => {
    const logged = JSON.parse(request) as LoggedRequest;
    return {
      // Only the log replay reads its answers: no reply partition, no deltas.
      request: { ...logged, createdAt: logged.createdAt + shift, replyPartition: null, deltas: false },
      ...{ load, saturation },
      answers: new Map(arms.map((arm, i) => [arm, JSON.parse(answers[i] ?? "{}") as Omit<LoggedAnswer, "arm">])),
    };
  });
}
