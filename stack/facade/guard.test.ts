import { describe, expect, it } from "vitest";
import { readerLimits, stageLimits } from "./access.ts";
import { DatabaseError, errorText, toDatabaseError } from "./errors.ts";
import {
  checkExpressions,
  checkSetting,
  checkStatement,
  firstKeyword,
  looksLikeRead,
  type Permission,
} from "./guard.ts";

// The real list comes from the engine (test/sql/clickhouse.test.ts).
const knownTableFunctions = new Set([
  "file",
  "url",
  "remote",
  "numbers",
  "values",
  "executable",
  "input",
  "viewexplain",
]);
const reader: Permission = { readOnly: true, limits: readerLimits, knownTableFunctions, parameters: { f: "file" } };
const writer: Permission = { readOnly: false, limits: stageLimits, knownTableFunctions, parameters: {} };

describe("firstKeyword", () => {
  it.each([
    ["select 1", "SELECT"],
    ["  -- a comment; DROP\n /* and\nanother */ (WITH x AS (SELECT 1) SELECT *)", "WITH"],
    ["#!shebang\nINSERT INTO t VALUES", "INSERT"],
    ["", ""],
    ["/* unfinished", ""],
    ["; SELECT 1", ""],
  ])("%j", (sql, keyword) => expect(firstKeyword(sql)).toBe(keyword));

  it("tells the queue of a statement", () => {
    expect(looksLikeRead("EXPLAIN SELECT 1")).toBe(true);
    expect(looksLikeRead("INSERT INTO t SELECT 1")).toBe(false);
  });
});

describe("a reader", () => {
  it.each([
    "SELECT 'INTO OUTFILE' AS text, `into outfile` FROM t",
    "SELECT 'it''s file(1) \\' file(2)'",
    "SELECT {file:String}",
    "SELECT profile, files, url, x.input FROM t",
    "SELECT url, (1) FROM values AS file_list",
    "SHOW TABLES",
    "SELECT * FROM numbers(10) SETTINGS max_threads = 1, output_format_json_quote_64bit_integers = 0",
    "SELECT settings FROM t FORMAT JSONCompact",
    "SELECT format('{}', a) FROM t",
  ])("may run %j", (sql) => expect(() => checkStatement(sql, reader)).not.toThrow());

  it.each([
    "INSERT INTO t VALUES (1)",
    "DROP TABLE t",
    "KILL QUERY WHERE 1",
    "SYSTEM SHUTDOWN",
    "SET readonly = 0",
    "SELECT 1 INTO OUTFILE 'x'",
    "SELECT 'a\\\\' INTO OUTFILE 'x'",
    "SELECT 1 AS `it\\'s` INTO OUTFILE 'x'",
    "SELECT 1 AS `it's` INTO OUTFILE 'x'",
    "SELECT file('/etc/passwd')",
    "SELECT FILE('/etc/passwd')",
    "SELECT arrayMap(file, ['x'])",
    "SELECT arrayMap(`file`, ['x'])",
    "SELECT arrayMap({f:Identifier}, ['x'])",
    "SELECT * APPLY file FROM t",
    "SELECT * FROM eval('DROP TABLE t')",
    "SELECT * FROM file('x')",
    "SELECT * FROM `url`('http://x')",
    "SELECT * FROM (SELECT * FROM (SELECT * FROM URL ('http://x')))",
    "WITH a AS (SELECT * FROM remote('h', d.t)) SELECT 1",
    "DESCRIBE TABLE url('file:///etc/passwd', 'CSV')",
    "EXPLAIN SELECT * FROM executable('x', 'CSV', 'a Int8')",
    "SELECT aiGenerate('x')",
    "SELECT 1 SETTINGS readonly = 0",
    "SELECT (SELECT 1 SETTINGS format_schema = 'x')",
    "SELECT 1 SETTINGS max_threads = 1, readonly = 0",
    "SELECT 1 SETTINGS max_execution_time = 0",
    "SELECT 1 SETTINGS max_execution_time = -1",
    "SELECT 1 SETTINGS max_execution_time = DEFAULT",
    "SELECT 1 SETTINGS max_memory_usage = '99999999999999999'",
    "SELECT 1 FORMAT Template",
    "SELECT 1 FORMAT MySQLWire",
    "SELECT 1 PARALLEL WITH DROP TABLE t",
    "SELECT 1; SELECT 2",
    "SELECT $$ /* $$",
    "SELECT ‘a’",
    "",
  ])("is refused %j", (sql) => expect(() => checkStatement(sql, reader)).toThrow(DatabaseError));

  it("says what is refused and what is allowed", () => {
    expect(() => checkStatement("SELECT * FROM url('x')", reader)).toThrow(/"url".*only numbers/);
    expect(() => checkStatement("SELECT 1 SETTINGS a = 1", reader)).toThrow(/Setting a .*only max_execution_time/);
    expect(() => checkStatement("DROP TABLE t", reader)).toThrow(/stack token --write/);
  });
});

describe("a writer", () => {
  it.each([
    "INSERT INTO t (a, b) FORMAT JSONEachRow",
    "INSERT INTO t SELECT a FROM u SETTINGS distributed_product_mode = 'local'",
    "CREATE OR REPLACE VIEW v AS SELECT 1",
    "CREATE TABLE IF NOT EXISTS t (`a` Int8) ENGINE = ReplacingMergeTree(a) ORDER BY a SETTINGS index_granularity = 1024",
    "ALTER TABLE t (ADD COLUMN IF NOT EXISTS `a` Int8)",
    "ALTER TABLE t (REMOVE TTL)",
    "ALTER TABLE t (MODIFY SETTING non_replicated_deduplication_window = 100)",
    "DROP DATABASE IF EXISTS d",
  ])("may run %j", (sql) => expect(() => checkStatement(sql, writer)).not.toThrow());

  it.each([
    "INSERT INTO FUNCTION file('x') SELECT 1",
    "INSERT INTO t FROM INFILE 'x' FORMAT CSV",
    "INSERT INTO t SELECT * FROM input('a Int8') FORMAT CSV",
    "CREATE TABLE t (a Int8) ENGINE = URL('http://x', CSV)",
    "CREATE TABLE t AS remote('h', d.t)",
    "CREATE TABLE t (a Int8) ENGINE = MergeTree ORDER BY a SETTINGS disk = disk(type = 'local')",
    "CREATE DATABASE d ENGINE = Filesystem('/')",
    "CREATE FUNCTION f AS x -> x",
    "CREATE DICTIONARY d (a Int8) PRIMARY KEY a SOURCE(FILE(path '/x' format 'CSV')) LAYOUT(FLAT())",
    "CREATE USER u",
    "CREATE TEMPORARY TABLE t (a Int8)",
    "ATTACH TABLE t FROM '/x' (a Int8) ENGINE = File(CSV)",
    "DETACH DATABASE default",
    "ALTER TABLE t (FREEZE)",
    "ALTER TABLE t (MODIFY SETTING index_granularity = 1)",
    "ALTER TABLE t (MODIFY SETTING non_replicated_deduplication_window = 100, index_granularity = 1)",
    "ALTER TABLE t (MODIFY SETTING non_replicated_deduplication_window = 100, MODIFY SETTING storage_policy = 'x')",
    "ALTER TABLE t (RESET SETTING index_granularity)",
    "BACKUP TABLE t TO File('/x')",
    "RESTORE TABLE t FROM File('/x')",
    "SYSTEM FLUSH LOGS",
    "SET max_threads = 1",
    "GRANT ALL ON *.* TO default",
    "EXECUTE AS u SELECT 1",
    "KILL QUERY WHERE 1",
  ])("is refused %j", (sql) => expect(() => checkStatement(sql, writer)).toThrow(DatabaseError));

  it("is refused functions among VALUES and settings of a URL", () => {
    expect(() => checkExpressions("(1, now(), 'file(x)')", writer)).not.toThrow();
    expect(() => checkExpressions("(1, file('x'))", writer)).toThrow(/file/);
    expect(() => checkSetting("max_threads", "2", writer)).not.toThrow();
    expect(() => checkSetting("format_csv_delimiter", "x", writer)).toThrow(/format_csv_delimiter/);
    expect(() => checkSetting("max_execution_time", "0", writer)).toThrow(/from 1 to/);
  });
});

describe("errors", () => {
  it("are read out of chdb's text, the innermost first", () => {
    const text =
      "Code: 27. DB::Exception: Code: 27. DB::Exception: Cannot parse (at row 1)\n: more (CANNOT_PARSE) (version 26.7.2.1). (CANNOT_PARSE)";
    expect(toDatabaseError(new Error(text))).toMatchObject({
      code: 27,
      type: "CANNOT_PARSE",
      message: "Cannot parse (at row 1)\n: more",
    });
    expect(toDatabaseError(new Error("something else"))).toMatchObject({ code: 1002, message: "something else" });
  });

  it("look like a server's", () => {
    expect(errorText(new DatabaseError(60, "UNKNOWN_TABLE", "no t"), "26.7")).toBe(
      "Code: 60. DB::Exception: no t (UNKNOWN_TABLE) (version 26.7)\n",
    );
  });
});
