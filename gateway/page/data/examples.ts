// Examples by what bettering them would gain, and how each was used.
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import type { ExampleRow, ExampleUse } from "./port.ts";

const mostExamples = 200;
const mostUses = 100;
const shown = 600;

export const readExamples = (clickhouse: Pick<ClickHouse, "query">, search: string): Promise<ExampleRow[]> =>
  clickhouse.query<ExampleRow>(
    `SELECT example_id AS id, tenant, domain, substringUTF8(example_gain.request, 1, ${shown}) AS request, substringUTF8(example_gain.response, 1, ${shown}) AS response,
            gain, uses, rated_uses AS ratedUses, mean_quality AS meanQuality, quality, replays, source_arm AS sourceArm
     FROM example_gain
     WHERE {search:String} = '' OR startsWith(example_id, {search:String}) OR positionCaseInsensitiveUTF8(example_gain.request, {search:String}) > 0
     ORDER BY gain DESC, uses DESC, id LIMIT ${mostExamples}`,
    { search },
  );

export const readUses = (clickhouse: Pick<ClickHouse, "query">, id: string): Promise<ExampleUse[]> =>
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
