// Request ids as clients know them: the request's own, or the answer's.
import type { ClickHouse } from "../connections/clickhouse/port.ts";
import { requestIdOf } from "../gateway/api/response.ts";

/** Id of the recorded request: without chatcmpl-, msg_ or resp_, unless it has that itself. */
export async function recordedId(clickhouse: Pick<ClickHouse, "query">, given: string): Promise<string> {
  const bare = requestIdOf(given);
  if (bare === given) return given;
  const rows = await clickhouse.query<{ id: string }>(
    "SELECT DISTINCT request_id AS id FROM requests WHERE request_id = {given:String} LIMIT 1",
    { given },
  );
  return rows[0]?.id ?? bare;
}
