-- What the automatic judge compared (docs/learning.md, The automatic judge). The verdict itself is feedback; a row here says that nothing more is to be judged.
CREATE TABLE IF NOT EXISTS {table:judgements} {on_cluster}
(
    request_id String CODEC(ZSTD(1)),
    tenant LowCardinality(String),
    arm LowCardinality(String) COMMENT 'That answered',
    other_arm LowCardinality(String),
    second LowCardinality(String) COMMENT 'Where the other answer came from: alternatives (that table), generated (for the comparison, and not kept)',
    judge LowCardinality(String) COMMENT 'Arm and model, as the author of the feedback',
    probability Float64 COMMENT 'With which the request was drawn',
    score Nullable(Float64) COMMENT 'How much better the answer of arm is, [-3, 3]; NULL: no verdict could be read',
    tokens UInt64 COMMENT 'Of the verdicts and of a generated answer',
    cost Float64 COMMENT 'In the currency of the prices',
    judged_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:judged_at}
ORDER BY (request_id, tenant)
{ttl:judged_at};

{distributed:judgements:cityHash64(request_id)};
