-- What selection added to an example's helpfulness because the arm had its chunk cache at hand (docs/linked-prefill.md), and what came of it.

{columns:example_uses:
    ADD COLUMN IF NOT EXISTS cached_bonus Float64 DEFAULT 0 COMMENT 'Added to helpfulness for the choice: the arm had its cache at hand' AFTER explored
};

-- How many of the examples that an arm was shown were preferred for their caches, a row an arm and hour.
CREATE OR REPLACE VIEW {database}.cached_examples {on_cluster} AS
SELECT
    arm,
    toStartOfHour(created_at) AS hour,
    count() AS shown,
    countIf(cached_bonus > 0) AS preferred,
    countIf(cached_bonus > 0) / count() AS share,
    avg(helpfulness) AS mean_helpfulness
FROM {database}.example_uses FINAL
GROUP BY arm, hour
ORDER BY arm, hour;
