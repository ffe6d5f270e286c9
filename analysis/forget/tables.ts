// What ClickHouse has of an erasure's requests: found, deleted from the tables' own files (a
// mutation that is waited for, never FINAL alone), and searched again. Rejects as the port does.
import { erasedRequestSql, type LetterPosition } from "../../algorithms/privacy/erasure.ts";
import { requestKey } from "../../algorithms/identity/identity.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { personalTables, type TableSearch } from "../../schemas/personal-data.ts";
import { addRequest, letterMatcher, type Subject } from "./subject.ts";
import { groupBy, slicesOf } from "../../algorithms/lists/lists.ts";
import { sqlLiteral } from "../../algorithms/text/sql-literal.ts";

export interface TablesDependencies {
  clickhouse: Pick<ClickHouse, "query" | "command">;
  /** The table that holds the rows of `name`, and ON CLUSTER where there is one. */
  target: (name: string) => string;
}

/** Ids in a statement, whose length is bounded. */
const atOnce = 400;
/** A dead letter may have 16 MiB. */
const lettersAtOnce = 20;

const tables = Object.entries(personalTables);
const moment = (ms: number): string => `fromUnixTimestamp64Milli(toInt64(${ms}), 'UTC')`;

type ByRequest = Extract<TableSearch, { by: "request" }>;
const byRequest = tables.flatMap(([name, kept]): [string, ByRequest][] =>
  "by" in kept && kept.by === "request" ? [[name, kept]] : [],
);

export const searchedTables = tables.flatMap(([name, kept]) => ("none" in kept ? [] : [name]));

export function createForgetTables({ clickhouse, target }: TablesDependencies) {
  const remove = (name: string, condition: string): Promise<void> =>
    clickhouse.command(`ALTER TABLE ${target(name)} DELETE WHERE ${condition} SETTINGS mutations_sync = 2`);
  const countOf = async (name: string, condition: string): Promise<number> => {
    const [row] = await clickhouse.query<{ n: number }>(`SELECT count() AS n FROM ${name} WHERE ${condition}`);
    return Number(row?.n ?? 0);
  };

  function ofTenant({ wholeTenant, before }: Subject, time: string | null): string | null {
    if (wholeTenant === null) return null;
    return `tenant = ${sqlLiteral(wholeTenant)}${time === null ? "" : ` AND ${time} < ${moment(before)}`}`;
  }
  /** Condition on rows of this erasure and of earlier ones, whose late rows are found, too. */
  const erased = (subject: Subject, { request, time }: ByRequest): string => {
    const hash = `${erasedRequestSql("tenant", request)} GLOBAL IN (SELECT hash FROM erasures WHERE before IS NULL)`;
    const tenant = ofTenant(subject, time);
    return tenant === null ? hash : `(${hash} OR (${tenant}))`;
  };
  /** The length of a statement is bounded. */
  const replaysOf = ({ wholeTenant, examples }: Subject): string[] => {
    if (wholeTenant !== null) return [`tenant = ${sqlLiteral(wholeTenant)}`];
    return Array.from(slicesOf([...examples].map(sqlLiteral), atOnce), (ids) => `example_id IN (${ids.join(", ")})`);
  };

  /** Where dead letters stood whose bytes hold one of these requests, and their number. */
  async function lettersOf(subject: Subject): Promise<LetterPosition[]> {
    const isLetter = letterMatcher(subject);
    const found: LetterPosition[] = [];
    let after: LetterPosition = { topic: "", partition: -1, offset: -1 };
    for (;;) {
      const rows = await clickhouse.query<LetterRow>(LETTERS, {
        ...after,
        before: subject.before,
        limit: lettersAtOnce,
      });
      for (const { tenant, key, value, ...location } of rows) {
        const isKnown = subject.letters.has(`${location.topic}/${location.partition}/${location.offset}`);
        if (isKnown || isLetter({ tenant, key: bytesOf(key), value: bytesOf(value) })) found.push(location);
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < lettersAtOnce) return found;
      after = { topic: last.topic, partition: last.partition, offset: last.offset };
    }
  }
  const letterCondition = (location: LetterPosition): string =>
    `(source_topic = ${sqlLiteral(location.topic)} AND source_partition = ${location.partition} AND source_offset = ${location.offset})`;

  return {
    async find(subject: Subject): Promise<void> {
      const { scope, wholeTenant, before } = subject;
      const add = async (sql: string): Promise<void> => {
        const rows = await clickhouse.query<{ tenant: string; id: string }>(sql);
        for (const { tenant, id } of rows) if (id !== "") addRequest(subject, tenant, id);
      };
      const tenant = scope.tenant === undefined ? "true" : `tenant = ${sqlLiteral(scope.tenant)}`;
      for (const [name, { request, time }] of byRequest) {
        const select = `SELECT DISTINCT tenant, ${request} AS id FROM ${name} WHERE ${tenant}`;
        if (wholeTenant !== null) await add(`${select}${time === null ? "" : ` AND ${time} < ${moment(before)}`}`);
        else if (scope.request !== undefined) await add(`${select} AND ${request} = ${sqlLiteral(scope.request)}`);
        else if (name === "requests" || name === "observations")
          await add(
            `${select} AND metadata['user'] IN (${[scope.user ?? "", subject.pseudonym ?? ""]
              .filter((name) => name !== "")
              .map(sqlLiteral)
              .join(", ")})`,
          );
      }
    },

    /** Number of the subject's requests that have no answer yet and may still get one. */
    async underWay({ requests }: Subject, since: number): Promise<number> {
      const rows = await clickhouse.query<{ tenant: string; id: string }>(UNDER_WAY, { since });
      const waiting = new Set(rows.map(({ tenant, id }) => requestKey(tenant, id)));
      return [...requests.values()].filter(({ tenant, id }) => waiting.has(requestKey(tenant, id))).length;
    },

    lettersOf,

    /** Rows by table, all versions. isNoted: the requests' hashes stand in erasures. */
    async count(subject: Subject, isNoted = true): Promise<Record<string, number>> {
      const counts: Record<string, number> = {};
      for (const [name, kept] of byRequest) {
        const whole = ofTenant(subject, kept.time);
        const ids = whole === null ? conditionsOf(subject, kept) : [whole];
        counts[name] = 0;
        for (const condition of isNoted ? [erased(subject, kept)] : ids) counts[name] += await countOf(name, condition);
      }
      counts.example_replays = 0;
      for (const condition of replaysOf(subject)) counts.example_replays += await countOf("example_replays", condition);
      counts.dead_letters = (await lettersOf(subject)).length;
      return counts;
    },

    /** The requests themselves last: broken off, the rest is found by them again. */
    async delete(subject: Subject, onTable: (name: string) => void): Promise<void> {
      const letters = await lettersOf(subject);
      for (const some of slicesOf(letters, atOnce))
        await remove("dead_letters", some.map(letterCondition).join(" OR "));
      for (const condition of replaysOf(subject))
        if ((await countOf("example_replays", condition)) > 0) await remove("example_replays", condition);
      for (const [name, kept] of byRequest) {
        onTable(name);
        const whole = ofTenant(subject, kept.time);
        if (whole !== null) await remove(name, whole);
        if ((await countOf(name, erased(subject, kept))) === 0) continue;
        for (const condition of conditionsOf(subject, kept)) await remove(name, condition);
      }
    },
  };
}

const bytesOf = (base64: string | null): Buffer | null => (base64 === null ? null : Buffer.from(base64, "base64"));

/** By which the rows of its requests are named, a few hundred in each. */
function conditionsOf({ requests }: Subject, { request }: ByRequest): string[] {
  return [...groupBy(requests.values(), ({ tenant }) => tenant)].flatMap(([tenant, named]) =>
    Array.from(slicesOf(named, atOnce), (some) => {
      const ids = some.map(({ id }) => sqlLiteral(id));
      return `tenant = ${sqlLiteral(tenant)} AND ${request} IN (${ids.join(", ")})`;
    }),
  );
}

interface LetterRow extends LetterPosition {
  tenant: string;
  key: string | null;
  value: string | null;
}

const LETTERS = `
  SELECT source_topic AS topic, source_partition AS partition, source_offset AS offset, tenant, key_base64 AS key, value_base64 AS value
  FROM dead_letters
  WHERE (source_topic, source_partition, source_offset) > ({topic:String}, {partition:Int32}, {offset:Int64})
    AND created_at < fromUnixTimestamp64Milli({before:Int64}, 'UTC')
  ORDER BY source_topic, source_partition, source_offset LIMIT {limit:UInt32}`;

// What an erasure that was broken off has begun with may have lost its responses already. On a
// cluster a request and its responses are on one shard, the hashes of erasures on any.
const UNDER_WAY = `
  SELECT tenant, request_id AS id FROM requests
  WHERE created_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
    AND ${erasedRequestSql("tenant", "request_id")} GLOBAL NOT IN (SELECT hash FROM erasures)
    AND (request_id, tenant) NOT IN (
      SELECT request_id, tenant FROM responses WHERE created_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC'))
  SETTINGS distributed_product_mode = 'local'`;
