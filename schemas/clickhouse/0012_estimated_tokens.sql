-- Which costs rest on tokens that were estimated, since the endpoint reported none that can be right.

{columns:responses:
    ADD COLUMN IF NOT EXISTS tokens_estimated Bool DEFAULT false COMMENT 'Tokens, and so the cost, are estimated from the texts: the endpoint reported none that can be right' AFTER completion_tokens
};

{columns:alternative_answers:
    ADD COLUMN IF NOT EXISTS tokens_estimated Bool DEFAULT false COMMENT 'Tokens, and so the cost, are estimated from the texts: the endpoint reported none that can be right' AFTER completion_tokens
};

{columns:account_costs:
    ADD COLUMN IF NOT EXISTS estimated Bool DEFAULT false COMMENT 'The cost is estimated: the endpoint reported no tokens that can be right' AFTER cost
};
