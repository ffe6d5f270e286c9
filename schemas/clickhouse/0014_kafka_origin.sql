-- kafka_offset means something only together with the cluster and the topic that it belongs to (algorithms/identity/origin.ts): a topic that was deleted and made
-- again, or another cluster, counts from 0 again. Positions are looked up among the rows of one origin. Empty: stored before this file.

{columns:requests:
    ADD COLUMN IF NOT EXISTS kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot, topic id; empty: not known' AFTER kafka_offset
};
{columns:request_arrivals:
    ADD COLUMN IF NOT EXISTS kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot, topic id; empty: not known' AFTER kafka_offset
};
{columns:decisions:
    ADD COLUMN IF NOT EXISTS kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot, topic id; empty: not known' AFTER kafka_offset
};
{columns:example_uses:
    ADD COLUMN IF NOT EXISTS kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot, topic id; empty: not known' AFTER kafka_offset
};
{columns:example_trials:
    ADD COLUMN IF NOT EXISTS kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot, topic id; empty: not known' AFTER kafka_offset
};
{columns:responses:
    ADD COLUMN IF NOT EXISTS kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot, topic id; empty: not known' AFTER kafka_offset
};
{columns:alternatives:
    ADD COLUMN IF NOT EXISTS kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot, topic id; empty: not known' AFTER kafka_offset
};
{columns:feedback:
    ADD COLUMN IF NOT EXISTS kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot, topic id; empty: not known' AFTER kafka_offset
};
{columns:examples:
    ADD COLUMN IF NOT EXISTS kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot, topic id; empty: not known' AFTER kafka_offset
};
{columns:policies:
    ADD COLUMN IF NOT EXISTS kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot, topic id; empty: not known' AFTER kafka_offset
};
{columns:replays:
    ADD COLUMN IF NOT EXISTS kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot, topic id; empty: not known' AFTER kafka_offset
};
{columns:observations:
    ADD COLUMN IF NOT EXISTS kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot, topic id; empty: not known' AFTER kafka_offset
};
{columns:dead_letters:
    ADD COLUMN IF NOT EXISTS kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot, topic id; empty: not known' AFTER kafka_offset
};
{columns:prefill_samples:
    ADD COLUMN IF NOT EXISTS kafka_origin LowCardinality(String) COMMENT 'Cluster id, a dot, topic id; empty: not known' AFTER kafka_offset
};
