// What eviction asks ClickHouse: what has expired, what all weighs, and who is worth the least for
// its bytes.

export const selectExpired = `
  SELECT example_id AS id, domain FROM examples FINAL
  WHERE NOT deleted AND expires_at <= fromUnixTimestamp64Milli({now:Int64}, 'UTC') ORDER BY expires_at LIMIT {limit:UInt32}`;

export const selectWeight = "SELECT sum(bytes) AS bytes FROM examples FINAL WHERE NOT deleted";

const hours = (since: string): string => `greatest({now:Int64} - ${since}, 0) / 3600000`;

// A use is shared among the examples that were shown together. A new example is worth its quality
// in offloads; that prior fades as offloads do.
export const selectRivals = `
  SELECT
    example.id AS id, example.domain AS domain, example.bytes AS bytes,
    toBool({now:Int64} - example.createdAt < {graceMs:Float64}) AS young,
    ifNull(offload.credit, 0) + example.quality * pow({retention:Float64}, ${hours("example.createdAt")}) AS value
  FROM (
    SELECT example_id AS id, domain, bytes, toUnixTimestamp64Milli(created_at) AS createdAt, quality
    FROM examples FINAL WHERE NOT deleted
  ) AS example
  GLOBAL LEFT JOIN (
    SELECT used.example_id AS id, sum(pow({retention:Float64}, ${hours("toUnixTimestamp64Milli(used.created_at)")}) / shown.count) AS credit
    FROM example_use_quality AS used
    INNER JOIN (SELECT request_id, tenant, count() AS count FROM example_use_quality GROUP BY request_id, tenant) AS shown
      ON shown.request_id = used.request_id AND shown.tenant = used.tenant
    GLOBAL INNER JOIN (SELECT example_id, source_arm FROM examples FINAL WHERE NOT deleted) AS source ON source.example_id = used.example_id
    WHERE used.quality >= {offloadQuality:Float64}
      AND used.arm_cost < if(mapContains({costs:Map(String, Float64)}, source.source_arm), {costs:Map(String, Float64)}[source.source_arm], 1)
    GROUP BY used.example_id
  ) AS offload ON offload.id = example.id
  ORDER BY young, value / greatest(bytes, 1), id LIMIT {limit:UInt32}`;
