-- Which arms could not be chosen, or only as a probe, when a request was routed (docs/arms.md).

{columns:decisions:
    ADD COLUMN IF NOT EXISTS breakers Map(LowCardinality(String), LowCardinality(String)) COMMENT 'By arm: open (not to be chosen, unless all are) or half-open (a probe); closed ones are left out' AFTER asked
};
