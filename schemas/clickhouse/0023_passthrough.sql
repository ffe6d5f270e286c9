-- What requests hand to endpoints as it is, and what came back besides text (docs/gateway.md).

{columns:requests:
    ADD COLUMN IF NOT EXISTS passthrough String COMMENT 'JSON: members of a chat completion that went to the endpoint as they are. Empty: none' CODEC(ZSTD(3)) AFTER stop,
    ADD COLUMN IF NOT EXISTS requires Array(LowCardinality(String)) COMMENT 'What an arm had to declare for that' AFTER passthrough
};

{columns:responses:
    ADD COLUMN IF NOT EXISTS passthrough String COMMENT 'JSON with message and logprobs: what the message of the endpoint had besides its text. Empty: nothing' CODEC(ZSTD(3)) AFTER text
};
