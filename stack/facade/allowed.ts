// What a statement may use: allow lists without anything that opens files, connections or programs.
// Features of newer versions are refused until added.

/** Allowed table functions; `format` reads text of the statement itself. */
export const tableFunctions: ReadonlySet<string> = new Set([
  ...["numbers", "numbers_mt", "zeros", "zeros_mt", "generateseries", "generate_series", "values", "format", "null"],
]);

/**
 * Functions refused wherever their name stands: they read files or models, ask the network, or tell
 * of the machine. test/sql/clickhouse.test.ts notices new ones.
 */
export const refusedFunctions: ReadonlySet<string> = new Set([
  ...["file", "eval", "catboostevaluate", "evalmlmethod", "showcertificate", "getclienthttpheader", "getserversetting"],
  ...["aiclassify", "aiembed", "aiextract", "aigenerate", "aitranslate", "fuzzquery", "logtrace"],
  ...["naivebayesclassifier", "naivebayesclassifierwithprob", "naivebayesclassifierwithallprobs", "generateserialid"],
  ...["addresstoline", "addresstolinewithinlines", "addresstosymbol", "filesystemavailable", "filesystemcapacity"],
  ...["filesystemunreserved", "zookeepersessionuptime"],
]);

/** Engines of CREATE: what migrations use, and those that only keep rows. */
export const engines: ReadonlySet<string> = new Set([
  ...["MergeTree", "ReplacingMergeTree", "AggregatingMergeTree", "SummingMergeTree", "CollapsingMergeTree"],
  ...["Memory", "Null", "View", "MaterializedView", "Atomic"],
]);

/** Formats that need no schema file and no other protocol. */
export const isFormat = (name: string): boolean =>
  /^(JSON\w*|NDJSON|CSV\w*|TSV\w*|TabSeparated\w*|TSKV|Pretty\w*|Vertical|Values|XML|Markdown|MD|Raw\w*|LineAsString|Null)$/.test(
    name,
  ) || /^(Parquet|Arrow|ArrowStream|ORC|Avro|Native|RowBinary\w*|MsgPack|BSONEachRow|SQLInsert|Prometheus)$/.test(name);

/** Settings that change how a result looks or a statement runs, nothing else. */
export const settings: ReadonlySet<string> = new Set([
  ...["output_format_json_quote_64bit_integers", "output_format_json_quote_64bit_floats"],
  ...["output_format_json_quote_denormals", "output_format_json_quote_decimals", "output_format_json_array_of_rows"],
  ...["output_format_json_named_tuples_as_objects", "output_format_json_escape_forward_slashes"],
  ...["output_format_pretty_max_rows", "output_format_pretty_color", "output_format_pretty_row_numbers"],
  ...["output_format_write_statistics", "output_format_decimal_trailing_zeros", "output_format_csv_crlf_end_of_line"],
  ...["date_time_input_format", "date_time_output_format", "session_timezone", "final", "join_use_nulls"],
  ...["input_format_skip_unknown_fields", "input_format_null_as_default", "input_format_defaults_for_omitted_fields"],
  ...["max_partitions_per_insert_block", "distributed_foreground_insert", "distributed_product_mode"],
  ...["materialize_ttl_after_modify", "mutations_sync", "alter_sync", "max_block_size"],
  ...["index_granularity", "non_replicated_deduplication_window"],
]);

/** Settings that may be given, from 1 up to ours; what they are is said in access.ts. */
export const limitNames = [
  "max_execution_time",
  "max_memory_usage",
  "max_result_rows",
  "max_result_bytes",
  "max_rows_to_read",
  "max_bytes_to_read",
  "max_threads",
  "max_query_size",
] as const;

export type Limits = Readonly<Record<(typeof limitNames)[number], number>>;
