-- A replay run of examples: what it was to do and where it is (docs/examples.md, Replay). What it tried is in replays.
CREATE TABLE IF NOT EXISTS {table:replay_runs} {on_cluster}
(
    run_id String CODEC(ZSTD(1)),
    cause LowCardinality(String) COMMENT 'hand, schedule',
    due_at Nullable(DateTime64(3, 'UTC')) COMMENT 'The time of the schedule',
    state LowCardinality(String) COMMENT 'running, waiting (for low load); done, cut-off, budget, load, interrupted, failed',
    problem String COMMENT 'Why it failed',
    judge LowCardinality(String),
    top UInt32 COMMENT 'Examples tried at most',
    samples UInt32,
    cut_off Nullable(Float64) COMMENT 'The least gain tried; NULL: none is worth it, or not known yet',
    cut_off_from LowCardinality(String) COMMENT 'prior, past replays, given',
    load Float64 COMMENT 'Of the busiest arm when this was written',
    waited_ms UInt64 COMMENT 'For low load',
    began_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    updated_at DateTime64(3, 'UTC') COMMENT 'Renewed every 30 s while it runs' CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:updated_at}
ORDER BY (run_id)
{ttl:began_at};

{distributed:replay_runs:cityHash64(run_id)};
