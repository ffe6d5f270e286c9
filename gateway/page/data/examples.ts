// Examples by what bettering them would gain, or the newest; each whole, with how it was used.
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import type { ExampleFilter, ExampleRow, ExampleUse, WholeExample } from "./port.ts";

type Reader = Pick<ClickHouse, "query">;

const mostExamples = 200;
const mostUses = 100;
const shown = 600;

/** Columns of a table or view with the texts of examples. */
const columns = (table: string): string =>
  `example_id AS id, tenant, domain, substringUTF8(${table}.request, 1, ${shown}) AS request,
   substringUTF8(${table}.response, 1, ${shown}) AS response, quality, replays, source_arm AS sourceArm`;
const usage = "gain, uses, rated_uses AS ratedUses, mean_quality AS meanQuality";
const fits = (table: string): string =>
  `({search:String} = '' OR startsWith(example_id, {search:String})
    OR positionCaseInsensitiveUTF8(${table}.request, {search:String}) > 0
    OR positionCaseInsensitiveUTF8(${table}.response, {search:String}) > 0)`;

export const readExamples = (clickhouse: Reader, { search = "", sort }: ExampleFilter): Promise<ExampleRow[]> =>
  sort === "newest"
    ? readNewest(clickhouse, search)
    : clickhouse.query<ExampleRow>(
        `SELECT ${columns("example_gain")}, ${usage} FROM example_gain WHERE ${fits("example_gain")}
         ORDER BY gain DESC, uses DESC, id LIMIT ${mostExamples}`,
        { search },
      );

type Usage = Pick<ExampleRow, "id" | "gain" | "uses" | "ratedUses" | "meanQuality">;
const unused = { gain: 0, uses: 0, ratedUses: 0, meanQuality: 0 };

/** Those that were never shown, too. */
async function readNewest(clickhouse: Reader, search: string): Promise<ExampleRow[]> {
  const rows = await clickhouse.query<Omit<ExampleRow, Exclude<keyof Usage, "id">>>(
    `SELECT ${columns("examples")} FROM examples FINAL WHERE NOT deleted AND ${fits("examples")}
     ORDER BY created_at DESC, id LIMIT ${mostExamples}`,
    { search },
  );
  const used = await clickhouse.query<Usage>(
    `SELECT example_id AS id, ${usage} FROM example_gain WHERE example_id IN {ids:Array(String)}`,
    { ids: rows.map(({ id }) => id) },
  );
  const byId = new Map(used.map((one) => [one.id, one]));
  return rows.map((row) => ({ ...unused, ...row, ...byId.get(row.id) }));
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

const readUses = (clickhouse: Pick<ClickHouse, "query">, id: string): Promise<ExampleUse[]> =>
  clickhouse.query<ExampleUse>(
    `SELECT use.request_id AS requestId, use.tenant AS tenant, substringUTF8(asked.question, 1, 200) AS question, use.arm AS arm,
            toUnixTimestamp64Milli(use.created_at) AS createdAt, use.similarity AS similarity, use.helpfulness AS helpfulness, rated.rated AS rated, rated.quality AS quality
     FROM (SELECT * FROM example_uses FINAL WHERE example_id = {id:String} ORDER BY created_at DESC LIMIT ${mostUses}) AS use
     INNER JOIN (SELECT request_id, tenant, rated, quality FROM example_use_quality WHERE example_id = {id:String}) AS rated
       ON rated.request_id = use.request_id AND rated.tenant = use.tenant
     LEFT JOIN (
       SELECT request_id, tenant, question FROM requests FINAL
       WHERE request_id IN (SELECT request_id FROM example_uses WHERE example_id = {id:String} ORDER BY created_at DESC LIMIT ${mostUses})
     ) AS asked ON asked.request_id = use.request_id AND asked.tenant = use.tenant
     ORDER BY createdAt DESC, requestId LIMIT ${mostUses}`,
    { id },
  );
