// Parts of statements about what the examples of the pool made possible: offloads, uses by an arm
// cheaper than the one that their answer came from, of at least {offloadQuality}. They fade by the
// hour ({now}, {retention}); a use is shared among the examples that were shown together. {costs}
// has the normalised cost of each configured arm; any other counts as the most expensive, 1.

/** What is left of one unit of that age; `ms` is an expression, milliseconds since the epoch. */
export const faded = (ms: string): string => `pow({retention:Float64}, greatest({now:Int64} - ${ms}, 0) / 3600000)`;

export const costOfArm = (arm: string): string =>
  `if(mapContains({costs:Map(String, Float64)}, ${arm}), {costs:Map(String, Float64)}[${arm}], 1)`;

/** What is left of an offload, for `offloads`. */
export const fadedUse = faded("toUnixTimestamp64Milli(used.created_at)");

/**
 * By example: id, and `sums` by name, each of what an offload is worth by its use (`used`) and the
 * example (`source`).
 */
export const offloads = (sums: Readonly<Record<string, string>>): string => `
    SELECT used.example_id AS id, ${Object.entries(sums)
      .map(([name, worth]) => `sum(${worth} / shown.count) AS ${name}`)
      .join(", ")}
    FROM example_use_quality AS used
    INNER JOIN (SELECT request_id, tenant, count() AS count FROM example_use_quality GROUP BY request_id, tenant) AS shown
      ON shown.request_id = used.request_id AND shown.tenant = used.tenant
    GLOBAL INNER JOIN (SELECT example_id, source_arm FROM examples FINAL WHERE NOT deleted) AS source ON source.example_id = used.example_id
    WHERE used.quality >= {offloadQuality:Float64} AND used.arm_cost < ${costOfArm("source.source_arm")}
    GROUP BY used.example_id`;

/** Bytes of the whole pool. */
export const selectPoolBytes = "SELECT sum(bytes) AS bytes FROM examples FINAL WHERE NOT deleted";
