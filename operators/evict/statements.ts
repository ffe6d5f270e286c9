// What eviction asks ClickHouse: what has expired, and who is worth the least for its bytes.
import { faded, fadedUse, offloads } from "../offloads.ts";

export const selectExpired = `
  SELECT example_id AS id, domain FROM examples FINAL
  WHERE NOT deleted AND expires_at <= fromUnixTimestamp64Milli({now:Int64}, 'UTC') ORDER BY expires_at LIMIT {limit:UInt32}`;

// A new example is worth its quality in offloads; that prior fades as offloads do.
// `pool`: bytes of the whole pool, by the same rows. Were it asked for apart, tombstones that are
// recorded in between would make room a second time, by examples that had it.
export const selectRivals = `
  SELECT
    example.id AS id, example.domain AS domain, example.bytes AS bytes,
    toBool({now:Int64} - example.createdAt < {graceMs:Float64}) AS young,
    ifNull(offload.sum, 0) + example.quality * ${faded("example.createdAt")} AS value,
    sum(example.bytes) OVER () AS pool
  FROM (
    SELECT example_id AS id, domain, bytes, toUnixTimestamp64Milli(created_at) AS createdAt, quality
    FROM examples FINAL WHERE NOT deleted
  ) AS example
  GLOBAL LEFT JOIN (${offloads({ sum: fadedUse })}
  ) AS offload ON offload.id = example.id
  ORDER BY young, value / greatest(bytes, 1), id LIMIT {limit:UInt32}`;
