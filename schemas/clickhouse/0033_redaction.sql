-- Rows whose texts record has cleaned (docs/privacy.md, Redaction): what the client got stands on the topic responses alone.

{columns:responses:
    ADD COLUMN IF NOT EXISTS redacted Bool COMMENT 'Personal data is replaced in text, passthrough or error_message, or one of them is withheld' AFTER passthrough
};

{columns:alternatives:
    ADD COLUMN IF NOT EXISTS redacted Bool COMMENT 'As in responses' AFTER passthrough
};
