// SQL of eviction. An offload: a use by an arm cheaper than the answer's source, of at least
// {offloadQuality}, decayed by the hour and shared. {costs}: by arm; others count 1.

/** What is left of one unit of that age; `ms` is an expression, milliseconds since the epoch. */
const faded = (ms: string): string => `pow({retention:Float64}, greatest({now:Int64} - ${ms}, 0) / 3600000)`;

const costOfArm = (arm: string): string =>
  `if(mapContains({costs:Map(String, Float64)}, ${arm}), {costs:Map(String, Float64)}[${arm}], 1)`;

const offloads = `
    SELECT used.example_id AS id, sum(${faded("toUnixTimestamp64Milli(used.created_at)")} / shown.count) AS sum
    FROM example_use_quality AS used
    INNER JOIN (SELECT request_id, tenant, count() AS count FROM example_use_quality GROUP BY request_id, tenant) AS shown
      ON shown.request_id = used.request_id AND shown.tenant = used.tenant
    GLOBAL INNER JOIN (SELECT example_id, source_arm FROM examples FINAL WHERE NOT deleted) AS source ON source.example_id = used.example_id
    WHERE used.quality >= {offloadQuality:Float64} AND used.arm_cost < ${costOfArm("source.source_arm")}
    GROUP BY used.example_id`;

export const selectPoolBytes = "SELECT sum(bytes) AS bytes FROM examples FINAL WHERE NOT deleted";

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
  GLOBAL LEFT JOIN (${offloads}
  ) AS offload ON offload.id = example.id
  ORDER BY young, value / greatest(bytes, 1), id LIMIT {limit:UInt32}`;
