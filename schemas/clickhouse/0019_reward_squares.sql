-- What the noise of rewards is estimated from (docs/learning.md). Hours from before are recomputed: a new layout of the context starts over.

{columns:arm_hours:
    ADD COLUMN IF NOT EXISTS reward_squares Float64 DEFAULT 0 COMMENT 'Sum of w r r' AFTER reward_sum
};
