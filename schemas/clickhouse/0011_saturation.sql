-- What an arm lost for its own saturation when a request was routed (docs/routing.md): the part of its bias that is neither price nor the load L.

{columns:decisions:
    ADD COLUMN IF NOT EXISTS saturation Map(LowCardinality(String), Float64) COMMENT 'By arm: the part of its bias for its own saturation; those without are left out' AFTER load
};
