// What ClickHouse has of an import's rows already: requests that are there or were erased, requests
// that feedback is on, feedback itself. Rejects as the port does.
import { requestKey } from "../../algorithms/identity/identity.ts";
import { erasedRequest, erasedTenant } from "../../algorithms/privacy/erasure.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Feedback } from "../../schemas/types.ts";
import type { ForeignFeedback } from "./presets/preset.ts";
import { slicesOf } from "../../algorithms/lists/lists.ts";
import { sqlLiteral } from "../../algorithms/text/sql-literal.ts";

export interface ImportedRequest {
  id: string;
  tenant: string;
  createdAt: number;
}

/** Names in a statement, whose length is bounded. */
const atOnce = 400;

export const feedbackKey = ({ tenant, requestId, id }: Pick<Feedback, "tenant" | "requestId" | "id">): string =>
  JSON.stringify([tenant, requestId, id]);

export function createKnown({ query }: Pick<ClickHouse, "query">) {
  /** Rows of a statement for all names, some at a time. */
  async function select<Row>(names: Iterable<string>, sql: (list: string) => string): Promise<Row[]> {
    const rows: Row[] = [];
    for (const some of slicesOf([...new Set(names)].map(sqlLiteral), atOnce))
      rows.push(...(await query<Row>(sql(some.join(", ")))));
    return rows;
  }

  return {
    /** Keys of those that are there, from whatever log. */
    async requests(given: readonly ImportedRequest[]): Promise<Set<string>> {
      const rows = await select<{ request_id: string; tenant: string }>(
        given.map(({ id }) => id),
        (ids) => `SELECT DISTINCT request_id, tenant FROM request_arrivals WHERE request_id IN (${ids})`,
      );
      return new Set(rows.map(({ tenant, request_id: id }) => requestKey(tenant, id)));
    },

    /** Keys of those that precedent forget erased. */
    async erased(given: readonly ImportedRequest[]): Promise<Set<string>> {
      const rows = await select<{ hash: string; before: number | null }>(
        given.flatMap(({ tenant, id }) => [erasedRequest(tenant, id), erasedTenant(tenant)]),
        (list) => `SELECT hash, toUnixTimestamp64Milli(before) AS before FROM erasures FINAL WHERE hash IN (${list})`,
      );
      const until = new Map<string, number>();
      for (const { hash, before } of rows)
        until.set(hash, Math.max(until.get(hash) ?? 0, before === null ? Infinity : Number(before)));
      const isErased = ({ tenant, id, createdAt }: ImportedRequest): boolean =>
        until.has(erasedRequest(tenant, id)) || createdAt < (until.get(erasedTenant(tenant)) ?? 0);
      return new Set(given.filter(isErased).map(({ tenant, id }) => requestKey(tenant, id)));
    },

    /** The imported requests that each is on; none where none is imported. */
    async targets(given: readonly ForeignFeedback[]): Promise<ImportedRequest[][]> {
      const groups = [...new Set(given.flatMap(({ group }) => (group === null ? [] : [group])))];
      const members = [...groups.map((group) => `metadata[${sqlLiteral(group)}]`)];
      const rows = await select<{ id: string; tenant: string; at: number; members: string[] }>(
        given.map(({ target }) => target),
        (list) =>
          `SELECT request_id AS id, tenant, toUnixTimestamp64Milli(created_at) AS at, [${members.join(", ")}] AS members
           FROM requests FINAL WHERE topic = 'import' AND (${["request_id", ...members].map((name) => `${name} IN (${list})`).join(" OR ")})`,
      );
      const found = new Map<string, ImportedRequest[]>();
      const add = (name: string, one: ImportedRequest): void => void found.set(name, [...(found.get(name) ?? []), one]);
      for (const { id, tenant, at, members: within } of rows) {
        const request = { id, tenant, createdAt: Number(at) };
        add(id, request);
        within.forEach((member, i) => {
          if (member !== "" && member !== id) add(`${groups[i]} ${member}`, request);
        });
      }
      return given.map(({ target, group }) => {
        const own = found.get(target) ?? [];
        return own.length > 0 || group === null ? own : (found.get(`${group} ${target}`) ?? []);
      });
    },

    /** Keys of the feedback that is there. */
    async feedback(given: readonly Feedback[]): Promise<Set<string>> {
      const rows = await select<{ tenant: string; requestId: string; id: string }>(
        given.map(({ requestId }) => requestId),
        (ids) => `SELECT tenant, request_id AS requestId, feedback_id AS id FROM feedback WHERE request_id IN (${ids})`,
      );
      return new Set(rows.map(feedbackKey));
    },
  };
}
