// Which examples' caches are worth making before a request shows them, the most valuable first, and
// what each is made behind: the nearest hub of its sharing domain, behind the hub nearest to that.
// One in 64 examples is a hub, so that many begin alike and a hub is computed once for all of them.
import type { BuildAgenda, BuildItem } from "../../arms/linked/build.ts";
import type { SessionOf } from "../session.ts";

/** Uses of longer ago are of other traffic. */
const daysRead = 14;
/** Examples listed at most. */
const mostListed = 50_000;
export const hubShare = 64;
/** In a smaller domain each example is a hub. */
const leastWithHubs = 1_024;

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

const HUBS = `
  SELECT if(count() < ${leastWithHubs}, 1, ${hubShare}) AS share, share > 1 AND cityHash64({id:String}) % share = 0 AS own
  FROM examples FINAL
  WHERE domain = {domain:String} AND NOT deleted`;

const NEAREST_HUB = `
  WITH (
    SELECT (embedding, embedding_model) FROM examples FINAL WHERE domain = {domain:String} AND example_id = {id:String}
  ) AS wanted
  SELECT example_id AS id
  FROM examples FINAL
  WHERE domain = {domain:String} AND example_id NOT IN {without:Array(String)} AND NOT deleted
    AND cityHash64(example_id) % {share:UInt8} = 0
    AND embedding_model = wanted.2 AND length(embedding) = length(wanted.1)
  ORDER BY dotProduct(embedding, wanted.1) DESC, id
  LIMIT 1`;

const TEXTS = `
  SELECT example_id AS id, request, response
  FROM examples FINAL
  WHERE domain = {domain:String} AND example_id IN {ids:Array(String)} AND NOT deleted`;

type Text = BuildItem["examples"][number];

/** count: hubs before an example. Rejects as ClickHouse does. */
export function createBuildAgenda(
  { clickhouse }: Pick<SessionOf<{ tables: ["ClickHouse"] }>, "clickhouse">,
  arm: string,
): BuildAgenda {
  return {
    ids: (domain) => clickhouse.query<{ id: string; domain: string }>(VALUE, { arm, domain: domain ?? "" }),
    async item({ id, domain }, count) {
      const [hubs] = await clickhouse.query<{ share: number; own: number }>(HUBS, { id, domain });
      const { share, own } = hubs ?? { share: 1, own: 0 };
      // A hub has the cache that it has before others: behind one.
      const most = own === 1 ? 1 : count;
      const ids = [id];
      while (ids.length <= most) {
        const wanted = { id: ids[0], domain, without: ids, share };
        const [hub] = await clickhouse.query<{ id: string }>(NEAREST_HUB, wanted);
        if (hub === undefined) break;
        ids.unshift(hub.id);
      }
      const texts = await clickhouse.query<Text>(TEXTS, { domain, ids });
      const examples = ids.flatMap((one) => texts.find((text) => text.id === one) ?? []);
      return examples.at(-1)?.id === id ? { id, domain, examples } : null;
    },
  };
}
