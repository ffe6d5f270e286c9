-- What curate keeps (docs/examples.md): how far it has read, what it decided about every candidate, and what bettering an example would gain.

-- Positions: of topics the next offset (record stores every partition in their order), of rewards the highest version seen.
CREATE TABLE IF NOT EXISTS {table:cursors} {on_cluster}
(
    reader LowCardinality(String) COMMENT 'Who reads, e.g. curate',
    source LowCardinality(String) COMMENT 'A topic, or rewards',
    kafka_partition Int32 COMMENT '0 where the source has none',
    position UInt64
)
ENGINE = {replacing:position}
ORDER BY (reader, source, kafka_partition);

{distributed:cursors:cityHash64(reader)};

-- Why an answer became an example, or did not. One row a candidate: its newest consideration.
CREATE TABLE IF NOT EXISTS {table:admissions} {on_cluster}
(
    request_id String COMMENT 'Of the candidate' CODEC(ZSTD(1)),
    tenant LowCardinality(String),
    source LowCardinality(String) COMMENT 'response, observation',
    domain LowCardinality(String),
    outcome LowCardinality(String) COMMENT 'admitted, replaced, kept, refused, withdrawn',
    reason LowCardinality(String) COMMENT 'Of a refusal or a withdrawal: private, quality, near_duplicate, ...',
    example_id String COMMENT 'The example that it is, or that stands in its way; empty: none' CODEC(ZSTD(1)),
    quality Float64 COMMENT 'On which it was decided',
    reward_version UInt64 COMMENT 'Of the reward; 0 for observations',
    decided_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:decided_at}
ORDER BY (request_id, tenant, source)
{ttl:decided_at};

{distributed:admissions:cityHash64(request_id)};

-- Every answered use of an example: quality q from feedback, or, while there is none, as the router predicted it (rated = false).
-- gain is g = (1 - q) * c, c the normalised cost of the arm. Two weeks: what is older has faded from the ranking (rho ^ 336 < 1e-15).
CREATE OR REPLACE VIEW {database}.example_use_quality {on_cluster} AS
SELECT
    use.example_id AS example_id,
    use.request_id AS request_id,
    use.tenant AS tenant,
    use.domain AS domain,
    use.arm AS arm,
    use.arm_cost AS arm_cost,
    use.created_at AS created_at,
    toBool(rewarded.weight > 0) AS rated,
    if(rewarded.weight > 0, rewarded.reward, least(greatest(ifNotFinite(use.arm_mean, 0.5), 0), 1)) AS quality,
    (1 - quality) * ifNotFinite(use.arm_cost, 0) AS gain
FROM
    (SELECT * FROM {database}.example_uses FINAL WHERE created_at >= toStartOfHour(now('UTC')) - INTERVAL 336 HOUR) AS use
    INNER JOIN
    (
        SELECT request_id, tenant FROM {database}.responses FINAL
        WHERE status = 'ok' AND NOT duplicate AND created_at >= toStartOfHour(now('UTC')) - INTERVAL 336 HOUR
    ) AS response ON response.request_id = use.request_id AND response.tenant = use.tenant
    LEFT JOIN (SELECT request_id, tenant, reward, weight FROM {database}.rewards FINAL) AS rewarded
        ON rewarded.request_id = use.request_id AND rewarded.tenant = use.tenant
{colocated};

-- total of an hour, whole; the hour under way counts from its first use on.
CREATE OR REPLACE VIEW {database}.example_gain_hours {on_cluster} AS
SELECT
    example_id,
    any(tenant) AS tenant,
    any(domain) AS domain,
    toStartOfHour(created_at) AS hour,
    count() AS uses,
    countIf(rated) AS rated_uses,
    sum(quality) AS quality_sum,
    sum(gain) AS total
FROM {database}.example_use_quality
GROUP BY example_id, hour
{colocated};

-- The ranking for replay: G_h = rho * G_(h-1) + (1 - rho) * total_h with rho = 0.9, which is this sum (algorithms/routing/gain.ts). Examples that were never
-- used have no row.
CREATE OR REPLACE VIEW {database}.example_gain {on_cluster} AS
SELECT
    example.example_id AS example_id,
    example.tenant AS tenant,
    example.domain AS domain,
    used.gain AS gain,
    used.uses AS uses,
    used.rated_uses AS rated_uses,
    used.mean_quality AS mean_quality,
    used.last_used AS last_used,
    toStartOfHour(now('UTC')) AS as_of,
    example.quality AS quality,
    example.replays AS replays,
    example.source_arm AS source_arm,
    example.request AS request,
    example.response AS response
FROM
    (SELECT * FROM {database}.examples FINAL WHERE NOT deleted) AS example
    GLOBAL INNER JOIN
    (
        SELECT
            example_id,
            0.1 * sum(hours.total * pow(0.9, dateDiff('hour', hours.hour, toStartOfHour(now('UTC'))))) AS gain,
            sum(hours.uses) AS uses,
            sum(hours.rated_uses) AS rated_uses,
            sum(hours.quality_sum) / sum(hours.uses) AS mean_quality,
            max(hours.hour) AS last_used
        FROM {database}.example_gain_hours AS hours
        WHERE hours.hour <= toStartOfHour(now('UTC'))
        GROUP BY example_id
    ) AS used ON used.example_id = example.example_id
{colocated};
