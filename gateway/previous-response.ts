// The conversation behind a response of /v1/responses, from what is recorded: its request, which
// holds all turns before it, and its answer.
import { setTimeout as sleep } from "node:timers/promises";
import { createHeldCounts } from "../algorithms/queueing/held-counts.ts";
import { rawItems, rawMembers, RawJson } from "../algorithms/text/exact-json.ts";
import { sharingDomain } from "../algorithms/identity/identity.ts";
import type { ClickHouse } from "../connections/clickhouse/port.ts";
import type { Caller } from "./caller.ts";
import { extraOf, requestIdOf, responseIdPrefix } from "./api/response.ts";
import { ApiError } from "./errors.ts";
import type { LookUp } from "./lookups.ts";

/** Marks a request whose response a client may go on from: whether it begins with instructions. */
export const storedMark = "precedent_response";

export interface PreviousDependencies {
  clickhouse: Pick<ClickHouse, "query">;
  lookUp: LookUp;
  /** How often a response that is not recorded is looked for, a quarter of a second apart. */
  tries?: number;
}

/** Messages of a chat completion up to and with the answer. Rejects with ApiError. */
export type Previous = (id: string, caller: Pick<Caller, "tenant" | "domains">) => Promise<RawJson[]>;

interface Row {
  messages: { role: string; content: string }[];
  passthrough: string;
  mark: string;
  text: string;
  answer: string;
}

const betweenMs = 250;
/** Searches of one tenant at a time: all tenants share the look-ups. */
const mostSearches = 16;

/** A client may go on before its response is recorded, which takes a second or so. */
export function createPrevious({ clickhouse, lookUp, tries = 20 }: PreviousDependencies): Previous {
  const searches = createHeldCounts();

  async function search(id: string, tenant: string, domains: readonly string[]): Promise<RawJson[]> {
    const parameters = { id: requestIdOf(id), tenant, domains };
    for (let turn = 1; ; turn++) {
      const [row] = await lookUp(() => clickhouse.query<Row>(statement, parameters));
      if (row !== undefined) return turnsOf(row);
      if (turn >= tries) throw unknown(id);
      await sleep(betweenMs);
    }
  }

  return async (id, { tenant, domains }) => {
    if (!id.startsWith(responseIdPrefix) || domains?.length === 0) throw unknown(id);
    if (searches.of(tenant) >= mostSearches) throw tooMany();
    const release = searches.take(tenant);
    try {
      const allowed = (domains ?? []).map((domain) => sharingDomain(tenant, domain));
      return await search(id, tenant, allowed);
    } finally {
      release();
    }
  };
}

const statement = `
  SELECT request.messages AS messages, request.passthrough AS passthrough, request.metadata['${storedMark}'] AS mark,
         answer.text AS text, answer.passthrough AS answer
  FROM (
    SELECT messages, passthrough, metadata FROM requests FINAL
    WHERE request_id = {id:String} AND tenant = {tenant:String} AND mapContains(metadata, '${storedMark}')
      AND (empty({domains:Array(String)}) OR has({domains:Array(String)}, domain))
  ) AS request
  CROSS JOIN (
    SELECT text, passthrough FROM responses FINAL
    WHERE request_id = {id:String} AND tenant = {tenant:String} AND NOT duplicate AND status = 'ok'
  ) AS answer
  LIMIT 1`;

/** Leaves out instructions, which hold for one response. */
function turnsOf({ messages, passthrough, mark, text, answer }: Row): RawJson[] {
  const written = passthrough === "" ? undefined : rawMembers(passthrough).get("messages");
  const turns = (written === undefined ? messages.map((one) => JSON.stringify(one)) : rawItems(written)).slice(
    mark === "instructions" ? 1 : 0,
  );
  const { message } = extraOf({ passthrough: answer === "" ? null : answer });
  const { tool_calls: calls, thinking_blocks: thoughts } = message;
  const said = {
    ...{ role: "assistant", content: text === "" && calls !== undefined ? null : text },
    ...(calls !== undefined && { tool_calls: calls }),
    ...(thoughts !== undefined && { thinking_blocks: thoughts }),
  };
  return [...turns, JSON.stringify(said)].map((turn) => new RawJson(turn));
}

const tooMany = (): ApiError =>
  new ApiError({
    ...{ status: 429, code: "too_many_open", param: "previous_response_id", retryAfter: 1 },
    message: `${mostSearches} previous responses of this tenant are looked for already: try again.`,
  });

const unknown = (id: string): ApiError =>
  new ApiError({
    ...{ status: 400, code: "previous_response_not_found", param: "previous_response_id" },
    message: `Previous response with id '${id.slice(0, 80)}' not found.`,
  });
