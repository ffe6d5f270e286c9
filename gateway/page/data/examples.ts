// Examples by what bettering them would gain, or the newest; each whole, with how it was used.
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import type { ExampleFilter } from "./filters.ts";
import type { ExampleList, ExampleRow, ExampleUse, WholeExample } from "./types/examples.ts";

type Reader = Pick<ClickHouse, "query">;

const mostExamples = 200;
const mostUses = 100;
const shown = 600;

/** Uses that figures are of, at most: the newest of two weeks. */
const mostCounted = 50_000;

/** The uses that count; their requests are few, so that answers are looked up by id. */
const counted = `FROM example_uses WHERE created_at >= toStartOfHour(now('UTC')) - INTERVAL 336 HOUR
  ORDER BY created_at DESC LIMIT ${mostCounted}`;

/** By example, as the view example_gain has it. */
const usage = (condition = "true"): string => `
  SELECT example_id, 0.1 * sum(used.gain * pow(0.9, dateDiff('hour', toStartOfHour(used.created_at), toStartOfHour(now('UTC'))))) AS gain,
    count() AS uses, countIf(used.rated) AS ratedUses, avg(used.quality) AS meanQuality
  FROM example_use_quality AS used
  WHERE ${condition} AND (request_id, tenant) GLOBAL IN (SELECT request_id, tenant ${counted}) GROUP BY example_id`;

const columns = `example_id AS id, tenant, domain, substringUTF8(examples.request, 1, ${shown}) AS request,
  substringUTF8(examples.response, 1, ${shown}) AS response, quality, replays, source_arm AS sourceArm`;
const fitting = `FROM examples FINAL WHERE NOT deleted AND ({search:String} = '' OR startsWith(example_id, {search:String})
  OR positionCaseInsensitiveUTF8(examples.request, {search:String}) > 0
  OR positionCaseInsensitiveUTF8(examples.response, {search:String}) > 0)`;

export const readExamples = (clickhouse: Reader, { search = "", sort }: ExampleFilter): Promise<ExampleList> =>
  sort === "newest" ? readNewest(clickhouse, search) : readByGain(clickhouse, search);

async function readByGain(clickhouse: Reader, search: string): Promise<ExampleList> {
  const [rows, countedFrom] = await Promise.all([
    clickhouse.query<ExampleRow>(
      `SELECT example.*, used.gain AS gain, used.uses AS uses, used.ratedUses AS ratedUses, used.meanQuality AS meanQuality
       FROM (SELECT ${columns} ${fitting}) AS example GLOBAL INNER JOIN (${usage()}) AS used ON used.example_id = example.id
       ORDER BY gain DESC, uses DESC, id LIMIT ${mostExamples}`,
      { search },
    ),
    readCountedFrom(clickhouse),
  ]);
  return { rows, countedFrom };
}

type Usage = Pick<ExampleRow, "id" | "gain" | "uses" | "ratedUses" | "meanQuality">;
const unused = { gain: 0, uses: 0, ratedUses: 0, meanQuality: 0 };

/** Those that were never shown, too. */
async function readNewest(clickhouse: Reader, search: string): Promise<ExampleList> {
  const rows = await clickhouse.query<Omit<ExampleRow, Exclude<keyof Usage, "id">>>(
    `SELECT ${columns} ${fitting} ORDER BY created_at DESC, id LIMIT ${mostExamples}`,
    { search },
  );
  const [used, countedFrom] = await Promise.all([
    clickhouse.query<Omit<Usage, "id"> & { example_id: string }>(usage("example_id IN {ids:Array(String)}"), {
      ids: rows.map(({ id }) => id),
    }),
    readCountedFrom(clickhouse),
  ]);
  const byId = new Map(used.map(({ example_id: id, ...one }) => [id, one]));
  return { rows: rows.map((row) => ({ ...unused, ...row, ...byId.get(row.id) })), countedFrom };
}

/** Where the uses that count begin; null: all of two weeks count. */
async function readCountedFrom(clickhouse: Reader): Promise<number | null> {
  const [found] = await clickhouse.query<{ uses: number; oldest: number }>(
    `SELECT count() AS uses, toUnixTimestamp64Milli(min(created_at)) AS oldest FROM (SELECT created_at ${counted})`,
  );
  return found === undefined || found.uses < mostCounted ? null : found.oldest;
}

export async function readExample(clickhouse: Reader, id: string): Promise<WholeExample> {
  const [[example], uses] = await Promise.all([
    clickhouse.query<NonNullable<WholeExample["example"]>>(
      `SELECT example_id AS id, tenant, domain, request, response, quality, source_arm AS sourceArm,
              source_model AS sourceModel, source_request_id AS requestId,
              toUnixTimestamp64Milli(created_at) AS createdAt, toUnixTimestamp64Milli(expires_at) AS expiresAt
       FROM examples FINAL WHERE example_id = {id:String} AND NOT deleted LIMIT 1`,
      { id },
    ),
    readUses(clickhouse, id),
  ]);
  return { example: example ?? null, uses };
}

type Use = Pick<ExampleUse, "requestId" | "tenant" | "arm" | "createdAt" | "similarity" | "helpfulness"> & {
  predicted: number;
};
type Of<Row> = Row & { id: string; tenant: string };

/** Answered ones of two weeks, as in the view example_use_quality, by the ids of few requests. */
async function readUses(clickhouse: Reader, id: string): Promise<ExampleUse[]> {
  const uses = await clickhouse.query<Use>(
    `SELECT request_id AS requestId, tenant, arm, toUnixTimestamp64Milli(created_at) AS createdAt, similarity, helpfulness,
            least(greatest(ifNotFinite(arm_mean, 0.5), 0), 1) AS predicted
     FROM example_uses FINAL
     WHERE example_id = {id:String} AND example_uses.created_at >= now64(3) - INTERVAL 14 DAY
     ORDER BY createdAt DESC, requestId LIMIT ${mostUses}`,
    { id },
  );
  if (uses.length === 0) return [];
  const ids = uses.map(({ requestId }) => requestId);
  const read = async <Row>(sql: string): Promise<Map<string, Of<Row>>> => {
    const rows = await clickhouse.query<Of<Row>>(`${sql} AND request_id IN {ids:Array(String)}`, { ids });
    return new Map(rows.map((row) => [JSON.stringify([row.tenant, row.id]), row]));
  };
  const [answered, rewards, questions] = await Promise.all([
    read(
      `SELECT request_id AS id, tenant FROM responses FINAL WHERE status = 'ok' AND NOT duplicate AND empty(failed_arms)`,
    ),
    read<{ reward: number }>("SELECT request_id AS id, tenant, reward FROM rewards FINAL WHERE weight > 0"),
    read<{ question: string }>(
      "SELECT request_id AS id, tenant, substringUTF8(question, 1, 200) AS question FROM requests FINAL WHERE true",
    ),
  ]);
  return uses.flatMap(({ predicted, ...use }) => {
    const key = JSON.stringify([use.tenant, use.requestId]);
    if (!answered.has(key)) return [];
    const reward = rewards.get(key)?.reward;
    const question = questions.get(key)?.question ?? "";
    return { ...use, question, rated: reward !== undefined, quality: reward ?? predicted };
  });
}
