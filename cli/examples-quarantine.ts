// precedent examples quarantine, confirm: what only holders of feedback tokens say waits here until
// the tenant confirms it. To confirm is to say the same oneself, as feedback that counts
// (operators/admit); a key of the tenant can do so by POST /v1/feedback.
import { withoutControls } from "../algorithms/text/printable.ts";
import type { Command } from "commander";
import { v7 as uuid } from "uuid";
import { tokenAuthor } from "../algorithms/identity/identity.ts";
import type { ClickHouse } from "../connections/clickhouse/port.ts";
import type { Feedback } from "../schemas/types.ts";
import { sendFeedback } from "./feedback.ts";
import { feedbackRecord } from "./feedback-record.ts";
import { CommandError, type Io } from "./io.ts";
import { parseCount } from "./options.ts";
import { ago, jsonLines, oneLine, tableOf, withClickHouse } from "./reading.ts";
import { printWithSession } from "./with-session.ts";

/** What waits: a correction by its feedback's id, or a rated answer by its request's id. */
interface Waiting {
  id: string;
  requestId: string;
  tenant: string;
  domain: string;
  source: "correction" | "response";
  request: string;
  text: string;
  decidedAt: number;
}

// Every correction of a token counts by itself: what is confirmed is the text that was read.
const selectWaiting = `
  SELECT if(waiting.source = 'correction', correction.id, waiting.request_id) AS id, waiting.request_id AS requestId,
    waiting.tenant AS tenant, waiting.domain AS domain, waiting.source AS source, request.question AS request,
    if(waiting.source = 'correction', correction.text, response.text) AS text,
    toUnixTimestamp64Milli(waiting.decided_at) AS decidedAt
  FROM (SELECT * FROM admissions FINAL WHERE reason = 'unconfirmed') AS waiting
  INNER JOIN (SELECT request_id, tenant, question FROM requests FINAL) AS request
    ON request.request_id = waiting.request_id AND request.tenant = waiting.tenant
  LEFT JOIN (
    SELECT feedback_id AS id, request_id, tenant, ifNull(text, '') AS text FROM feedback FINAL
    WHERE kind = 'correction' AND author = {tokenAuthor:String}
  ) AS correction
    ON correction.request_id = waiting.request_id AND correction.tenant = waiting.tenant
  LEFT JOIN (SELECT request_id, tenant, text FROM responses FINAL WHERE NOT duplicate) AS response
    ON response.request_id = waiting.request_id AND response.tenant = waiting.tenant
  WHERE ({tenant:String} = '' OR waiting.tenant = {tenant:String}) AND ({id:String} = '' OR startsWith(id, {id:String}))
  ORDER BY decidedAt DESC, id LIMIT {limit:UInt32}`;

const readWaiting = (
  clickhouse: ClickHouse,
  { tenant = "", id = "", limit }: { tenant?: string | undefined; id?: string; limit: number },
): Promise<Waiting[]> => clickhouse.query<Waiting>(selectWaiting, { tenant, id, limit, tokenAuthor });

export function addQuarantine(examples: Command, io: Io): void {
  examples
    .command("quarantine")
    .description("corrections, and in shared domains answers, that only holders of feedback tokens vouch for")
    .option("-t, --tenant <name>", "of this tenant")
    .option("-n, --limit <count>", "how many, the newest", parseCount, 20)
    .option("--json", "one object a line, with all texts")
    .action(async (options: { tenant?: string; limit: number; json?: boolean }, command: Command) => {
      const rows = await withClickHouse(command, io, (clickhouse) => readWaiting(clickhouse, options));
      io.out(options.json === true ? jsonLines(rows) : describe(rows, Date.now()));
    });
  examples
    .command("confirm")
    .description("say what waits in quarantine oneself, so that it may become an example; prints the whole text")
    .argument("<id>", "as quarantine shows it, or the beginning of it")
    .option("-t, --tenant <name>", "of this tenant")
    .action(async (id: string, { tenant }: { tenant?: string }, command: Command) => {
      await printWithSession(command, io, async (session) => {
        const found = await readWaiting(session.clickhouse, { tenant, id, limit: 2 });
        const [waiting] = found;
        if (waiting === undefined) throw new CommandError(`nothing with the id ${id} is in quarantine`);
        if (found.length > 1) throw new CommandError(`several ids begin with ${id}: say more of it, or --tenant`);
        const feedback = confirmationOf(waiting, Date.now());
        await sendFeedback(session, feedback.requestId, feedback);
        return `${withoutControls(waiting.request)}\n\n${withoutControls(waiting.text)}\n\nconfirmed by feedback ${feedback.id}\n`;
      });
    });
}

/** Its id is new: a token may have used any other one before. */
function confirmationOf({ requestId, tenant, source, text }: Waiting, now: number): Feedback {
  const content = source === "correction" ? { text } : { verdict: "up" };
  return feedbackRecord({ requestId, tenant, ...content, source: "person", author: "confirmed" }, uuid(), now);
}

function describe(rows: readonly Waiting[], now: number): string {
  if (rows.length === 0) return "nothing waits\n";
  return tableOf(
    ["id", "tenant", "domain", "what", "age", "request", "text"],
    rows.map((row) => [
      ...[oneLine(row.id, 40), oneLine(row.tenant), oneLine(row.domain)],
      ...[row.source === "correction" ? "correction" : "answer", ago(now - row.decidedAt)],
      ...[oneLine(row.request, 40), oneLine(row.text, 40)],
    ]),
  );
}
