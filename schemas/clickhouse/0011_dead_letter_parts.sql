-- What a dead letter says beyond its bytes: which offsets it stands for, and of what it is a part.

{columns:dead_letters:
    ADD COLUMN IF NOT EXISTS source_first_offset UInt64 DEFAULT source_offset COMMENT 'First offset that the row stands for; lower than source_offset for a batch' AFTER source_offset,
    ADD COLUMN IF NOT EXISTS headers_list_base64 Array(Tuple(String, Nullable(String))) COMMENT 'All headers in order, values in base64, where some repeat or are null; else empty' AFTER headers_base64,
    ADD COLUMN IF NOT EXISTS headers_list Array(Tuple(String, Nullable(String))) ALIAS arrayMap(header -> (header.1, base64Decode(header.2)), headers_list_base64) COMMENT 'headers_list_base64, values as bytes' AFTER headers_list_base64,
    ADD COLUMN IF NOT EXISTS full_bytes Nullable(UInt64) COMMENT 'Bytes of the whole record; NULL: it is here whole' AFTER headers_list_base64,
    ADD COLUMN IF NOT EXISTS full_sha256 Nullable(String) COMMENT 'SHA-256 of the whole value in hexadecimal; NULL: it is here whole' AFTER full_bytes
};
