// Dead letters on the page: lists and single letters, and which were sent to their topic again.
// A letter that was sent again is followed by one with the code `retried` at the same position of
// the source, which refuses the second time.
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import { at, parametersOf } from "./answers.ts";
import type { LetterFilter, LetterKey } from "./filters.ts";

export interface LetterRow extends LetterKey {
  tenant: string;
  code: string;
  /** Its beginning. */
  reason: string;
  createdAt: number;
  /** When it was sent again; null: it was not. */
  retriedAt: number | null;
}

export interface Letter extends LetterRow {
  /** The first of the offsets that it stands for. */
  firstOffset: number;
  sourceTimestamp: number | null;
  /** null: none. */
  key: LetterText | null;
  value: LetterText | null;
  headers: { name: string; value: LetterText | null }[];
  /** Bytes of the whole record, where the letter has not all of them. */
  fullBytes: number | null;
  /** The value as JSON of the topic's record; null: it is none, or not whole here. */
  record: string | null;
}

/** UTF-8 if it is valid, else base64. Long texts are cut. */
export interface LetterText {
  text: string;
  isBase64: boolean;
  /** Length of the uncut text. */
  bytes: number;
}

/** The record can't be sent again; the message says why. */
export class LetterRefused extends Error {
  override name = "LetterRefused";
}

/** Code of the letter that says that one was sent again; its stage is the gateway. */
export const RETRIED = "retried";

const mostShown = 100;
const mostDays = 90;
const mostTextBytes = 256 * 1024;
const mostHeaders = 100;

/** Letters of a source position that were sent again. */
const retriedAt = `(SELECT source_topic, source_partition, source_offset, max(created_at) AS retried_at FROM dead_letters
  WHERE code = '${RETRIED}' AND created_at > now() - INTERVAL ${mostDays} DAY GROUP BY ALL)`;

/** A condition on dead_letters: neither sent again nor the note that one was. */
export const isOpenLetter = `code != '${RETRIED}' AND (source_topic, source_partition, source_offset) NOT IN (
  SELECT source_topic, source_partition, source_offset FROM dead_letters WHERE code = '${RETRIED}' AND created_at > now() - INTERVAL ${mostDays} DAY)`;

const columns = `letter.source_topic AS topic, letter.source_partition AS partition, letter.source_offset AS offset, letter.stage AS stage,
  letter.tenant AS tenant, letter.code AS code, toUnixTimestamp64Milli(letter.created_at) AS createdAt,
  nullIf(toUnixTimestamp64Milli(retried.retried_at), 0) AS retriedAt`;
const joined = `LEFT JOIN ${retriedAt} AS retried ON retried.source_topic = letter.source_topic
  AND retried.source_partition = letter.source_partition AND retried.source_offset = letter.source_offset`;

/** The newest first. */
export async function readLetters(clickhouse: Pick<ClickHouse, "query">, filter: LetterFilter): Promise<LetterRow[]> {
  const { topic = "", stage = "", code = "", tenant = "", before, skip = 0 } = filter;
  const narrowed = [
    topic === "" ? "" : " AND source_topic = {topic:String}",
    stage === "" ? "" : " AND stage = {stage:String}",
    code === "" ? "" : " AND code = {code:String}",
    tenant === "" ? "" : " AND tenant = {tenant:String}",
    before === undefined ? "" : ` AND created_at <= ${at("until")}`,
  ].join("");
  return clickhouse.query<LetterRow>(
    `SELECT ${columns}, substringUTF8(letter.reason, 1, 300) AS reason
     FROM (
       SELECT source_topic, source_partition, source_offset, stage, tenant, code, reason, created_at FROM dead_letters
       WHERE code != '${RETRIED}' AND created_at > now() - INTERVAL ${mostDays} DAY${narrowed}
       ORDER BY created_at DESC, source_offset DESC, source_partition, source_topic, stage
       LIMIT 1 BY source_topic, source_partition, source_offset, stage LIMIT ${mostShown} OFFSET {skip:UInt32}
     ) AS letter ${joined} ORDER BY createdAt DESC, offset DESC, partition, topic, stage`,
    { ...parametersOf({}), topic, stage, code, tenant, until: before ?? 0, skip },
  );
}

export interface StoredLetter {
  row: LetterRow;
  firstOffset: number;
  sourceTimestamp: number | null;
  key: string | null;
  value: string | null;
  valueBytes: number | null;
  headers: [name: string, base64: string | null][];
  fullBytes: number | null;
  /** Where the letter lies on the topic dead-letters. */
  kafkaPartition: number;
  kafkaOffset: number;
}

/** null: there is none at this position. */
export async function findLetter(
  clickhouse: Pick<ClickHouse, "query">,
  { topic, partition, offset, stage }: LetterKey,
): Promise<StoredLetter | null> {
  const [found] = await clickhouse.query<LetterRow & Omit<StoredLetter, "row">>(
    `SELECT ${columns}, letter.reason AS reason, letter.source_first_offset AS firstOffset,
       toUnixTimestamp64Milli(letter.source_timestamp) AS sourceTimestamp,
       substring(letter.key_base64, 1, ${mostTextBytes}) AS key, substring(letter.value_base64, 1, ${mostTextBytes}) AS value,
       length(base64Decode(letter.value_base64)) AS valueBytes,
       arraySlice(if(empty(letter.headers_list_base64), arrayMap(one -> (one.1, CAST(one.2 AS Nullable(String))), CAST(letter.headers_base64, 'Array(Tuple(String, String))')),
         letter.headers_list_base64), 1, ${mostHeaders}) AS headers,
       letter.full_bytes AS fullBytes, letter.kafka_partition AS kafkaPartition, letter.kafka_offset AS kafkaOffset
     FROM (
       SELECT * FROM dead_letters
       WHERE source_topic = {topic:String} AND source_partition = {partition:Int32} AND source_offset = {offset:UInt64} AND stage = {stage:String}
         AND code != '${RETRIED}' ORDER BY created_at DESC LIMIT 1
     ) AS letter ${joined}`,
    { topic, partition, offset, stage },
  );
  if (found === undefined) return null;
  const { firstOffset, sourceTimestamp, key, value, valueBytes, headers, fullBytes, ...more } = found;
  const { kafkaPartition, kafkaOffset, ...row } = more;
  return {
    ...{ row, firstOffset, sourceTimestamp, key, value, valueBytes, headers, fullBytes, kafkaPartition, kafkaOffset },
  };
}
