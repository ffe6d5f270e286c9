// Which examples' caches are worth making before a request shows them, the most valuable first, and
// what each would stand beside: the nearest of its sharing domain.
import type { BuildAgenda, BuildItem } from "../../arms/linked/build.ts";
import type { SessionOf } from "../session.ts";

/** Uses of longer ago are of other traffic. */
const daysRead = 14;
/** Examples listed at most. */
const mostListed = 50_000;

const VALUE = `
  SELECT example_id AS id, domain
  FROM examples FINAL
  LEFT JOIN (
    SELECT example_id, countIf(arm = {arm:String}) AS own, count() AS uses
    FROM example_uses FINAL
    WHERE created_at >= now64() - INTERVAL ${daysRead} DAY
    GROUP BY example_id
  ) AS shown USING (example_id)
  WHERE NOT deleted AND (expires_at IS NULL OR expires_at > now64()) AND ({domain:String} = '' OR domain = {domain:String})
  ORDER BY own DESC, uses DESC, quality DESC, created_at DESC, id
  LIMIT ${mostListed}`;

const NEIGHBOURS = `
  WITH (
    SELECT (embedding, embedding_model) FROM examples FINAL WHERE domain = {domain:String} AND example_id = {id:String}
  ) AS wanted
  SELECT example_id AS id
  FROM examples FINAL
  WHERE domain = {domain:String} AND example_id != {id:String} AND NOT deleted
    AND embedding_model = wanted.2 AND length(embedding) = length(wanted.1)
  ORDER BY dotProduct(embedding, wanted.1) DESC, id
  LIMIT {count:UInt8}`;

const TEXTS = `
  SELECT example_id AS id, request, response
  FROM examples FINAL
  WHERE domain = {domain:String} AND example_id IN {ids:Array(String)} AND NOT deleted`;

type Text = BuildItem["examples"][number];

/** count: examples beside one. Rejects as ClickHouse does. */
export function createBuildAgenda(
  { clickhouse }: Pick<SessionOf<{ tables: ["ClickHouse"] }>, "clickhouse">,
  arm: string,
): BuildAgenda {
  return {
    ids: (domain) => clickhouse.query<{ id: string; domain: string }>(VALUE, { arm, domain: domain ?? "" }),
    async item({ id, domain }, count) {
      const near = await clickhouse.query<{ id: string }>(NEIGHBOURS, { id, domain, count });
      // As in a prompt: the most helpful last.
      const ids = [...near.map((one) => one.id).reverse(), id];
      const texts = await clickhouse.query<Text>(TEXTS, { domain, ids });
      const examples = ids.flatMap((one) => texts.find((text) => text.id === one) ?? []);
      return examples.at(-1)?.id === id ? { id, domain, examples } : null;
    },
  };
}
