import { describe, expect, it } from "vitest";
import { DatabaseError, errorText, toDatabaseError } from "./errors.ts";
import { assertReadOnly, firstKeyword, looksLikeRead } from "./guard.ts";

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

describe("assertReadOnly", () => {
  it.each([
    "SELECT 'INTO OUTFILE' AS text, `into outfile` FROM t",
    "SELECT 'it''s file(1) \\' file(2)'",
    "SELECT {file:String}",
    "SELECT profile, files FROM t",
    "SHOW TABLES",
  ])("lets %j through", (sql) => expect(() => assertReadOnly(sql, 1)).not.toThrow());

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
    "SELECT arrayMap(file, ['x'])",
    "SELECT * FROM eval('DROP TABLE t')",
    "",
  ])("refuses %j", (sql) => expect(() => assertReadOnly(sql, 1)).toThrow(DatabaseError));

  it("holds a holder of the token to reading, not to tables", () => {
    expect(() => assertReadOnly("SELECT * FROM file('x')", 2)).not.toThrow();
    expect(() => assertReadOnly("DROP TABLE t", 2)).toThrow(/read-only/);
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
