// What the answers themselves must be: whole, from the arms that were asked, and none for what
// can't be read; and that is in dead_letters.
import type { Poisoned } from "./clients.ts";
import { wholeAnswer } from "./endpoint.ts";
import type { Rig } from "./rig.ts";

interface Row {
  kind: string;
  arm: string;
  status: string;
  code: string;
  rows: number | string;
}

/**
 * Counts by kind of request (the beginning of its id), arm, status and code. Call it when record
 * has read everything.
 */
export async function checkAnswers(
  { session: { clickhouse } }: Rig,
  { endpointArm, poisoned }: { endpointArm: string; poisoned: Poisoned },
): Promise<{ counts: Record<string, number>; violations: string[] }> {
  const rows = await clickhouse.query<Row>(
    `SELECT splitByChar('-', request_id)[1] AS kind, ifNull(arm, '') AS arm, status, ifNull(error_code, '') AS code, count() AS rows
     FROM responses FINAL WHERE NOT duplicate GROUP BY kind, arm, status, code ORDER BY kind, arm, status, code`,
  );
  const counts = Object.fromEntries(
    rows.map(({ kind, arm, status, code, rows: count }) => [
      [kind, arm, status, code].filter(Boolean).join(" "),
      Number(count),
    ]),
  );
  const violations: string[] = [];
  for (const { kind, arm, status, code, rows: count } of rows) {
    const expected = kind === "large" ? status === "refused" && code === "prompt_too_large" : status === "ok";
    // An endpoint that misbehaves may fail a request; the recorded arms may not.
    if (!expected && !(arm === endpointArm && status === "failed"))
      violations.push(`${count} requests "${kind}-..." are ${status} ${code} by ${arm === "" ? "no arm" : arm}`);
  }
  const [partly] = await clickhouse.query<{ rows: number | string }>(
    "SELECT count() AS rows FROM responses FINAL WHERE arm = {arm:String} AND status = 'ok' AND text != {text:String}",
    { arm: endpointArm, text: wholeAnswer },
  );
  if (Number(partly?.rows) > 0) violations.push(`${partly?.rows} answers of the endpoint pass for whole and are not`);
  const letters = await clickhouse.query<{ key: string }>(
    "SELECT DISTINCT base64Decode(key_base64) AS key FROM dead_letters",
  );
  const found = new Set(letters.map(({ key }) => key));
  const missing = poisoned.keys.filter((key) => !found.has(key));
  if (missing.length > 0)
    violations.push(`${missing.length} unreadable records are in no dead letter: ${missing.slice(0, 5).join(", ")}`);
  return { counts, violations };
}
