-- What learn sums of each sharing domain, beside arm_hours (0003): by how much an arm is better or worse there (docs/learning.md).
-- Computed from the base tables like arm_hours, for the hours that change from now on. weight = 0: nothing left in it.

CREATE TABLE IF NOT EXISTS {table:domain_arm_hours} {on_cluster}
(
    domain LowCardinality(String) COMMENT 'Sharing domain, tenant/domain',
    arm LowCardinality(String),
    model LowCardinality(String),
    hour DateTime('UTC') COMMENT 'Of the decisions' CODEC(Delta, ZSTD(1)),
    feature_version UInt32,
    x Array(Float64) COMMENT 'Sum of w x' CODEC(ZSTD(1)),
    weight Float64 COMMENT 'Sum of w',
    reward_sum Float64 COMMENT 'Sum of w r',
    version UInt64 CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:version}
ORDER BY (feature_version, arm, model, hour, domain)
{ttl:hour};

{distributed:domain_arm_hours:cityHash64(arm)};
