-- Rounds of `precedent examples synthesize`: what of the private examples was seen, through how much noise (docs/privacy.md). Kept for good: what they
-- cost together is the budget that is spent. A row is written before anything of its round is used.
CREATE TABLE IF NOT EXISTS {table:synthesis_rounds} {on_cluster}
(
    domain String COMMENT 'The shared place, +/domain',
    run_id String,
    round UInt32 COMMENT 'From 1',
    noise Float64 COMMENT 'Deviation of the noise on the votes; a round costs 1 / noise^2 of the square of mu',
    chosen Array(String) COMMENT 'The synthetic questions with the most votes, the best first' CODEC(ZSTD(1)),
    created_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1))
)
ENGINE = {replacing:created_at}
ORDER BY (domain, run_id, round, created_at);

{distributed:synthesis_rounds:cityHash64(domain)};
