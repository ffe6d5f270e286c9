-- created_at of what clients send is when it came to the broker: their clocks are not believed, or a request of 2099 would stand in a partition
-- of 2099 for ever, and one of 1970 would expire at once. What they say stands beside it, and nothing is reckoned with it.

{columns:requests:
    ADD COLUMN IF NOT EXISTS said_at Nullable(DateTime64(3, 'UTC')) COMMENT 'createdAt as the client said it; NULL: it said nothing' CODEC(Delta, ZSTD(1)) AFTER created_at
};
{columns:requests:
    ADD COLUMN IF NOT EXISTS request_hash String COMMENT 'Of what was asked: an id that comes again with another one is refused; empty: not known' CODEC(ZSTD(1)) AFTER said_at
};
{columns:feedback:
    ADD COLUMN IF NOT EXISTS said_at Nullable(DateTime64(3, 'UTC')) COMMENT 'createdAt as the client said it' CODEC(Delta, ZSTD(1)) AFTER created_at
};
{columns:observations:
    ADD COLUMN IF NOT EXISTS said_at Nullable(DateTime64(3, 'UTC')) COMMENT 'createdAt as the client said it' CODEC(Delta, ZSTD(1)) AFTER created_at
};
