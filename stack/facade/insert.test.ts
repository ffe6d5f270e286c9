import { describe, expect, it } from "vitest";
import { insertData, plainTarget, splitInsert } from "./insert.ts";

describe("splitInsert", () => {
  it.each([
    ["INSERT INTO t (a) FORMAT JSONEachRow\n{}", "INSERT INTO t (a) FORMAT JSONEachRow", "\n{}"],
    ["insert into t format CSV 1;2", "insert into t format CSV", " 1;2"],
    ["INSERT INTO t VALUES (1)", "INSERT INTO t VALUES", " (1)"],
    ["INSERT INTO values VALUES (1)", "INSERT INTO values VALUES", " (1)"],
    ["INSERT INTO t (`FORMAT x`, format) /* FORMAT y */ VALUES (1)", undefined, " (1)"],
  ])("%j", (sql, head, data) => {
    const found = splitInsert(sql);
    expect(found?.data).toBe(data);
    if (head !== undefined) expect(found?.head).toBe(head);
  });

  it.each(["INSERT INTO t SELECT 1", "INSERT INTO t WITH a AS (SELECT 1) SELECT 2", "INSERT INTO t FROM INFILE 'x'"])(
    "leaves %j whole",
    (sql) => expect(splitInsert(sql)).toBeUndefined(),
  );
});

describe("plainTarget", () => {
  const head = "INSERT INTO d.t FORMAT JSONEachRow";

  it("lets lines of JSON pass as they are", () => {
    expect(plainTarget(head, Buffer.from('{"a":"\\n\\n; DROP TABLE t"}\n{"a":2}\n'))).toBe("d.t");
  });

  it.each([
    '\n{"a":1}',
    '{"a":1}\n\n{"a":2}',
    '{"a":1}\n\r\n{"a":2}',
    '{"a":1}\n \n{"a":2}',
    '{"a":1}\n\t',
    '{"a":1}\n\v\n{"a":2}',
    '{"a":1}\n\f',
    '[{"a":1}]',
    "",
  ])("leaves %j to be read as text", (data) => expect(plainTarget(head, Buffer.from(data))).toBeUndefined());

  it.each([
    "INSERT INTO t (a) FORMAT JSONEachRow",
    "INSERT INTO t FORMAT CSV",
    "INSERT INTO t SELECT 1",
    "INSERT INTO `a b` FORMAT JSONEachRow",
  ])("takes no %j", (other) => expect(plainTarget(other, Buffer.from('{"a":1}'))).toBeUndefined());
});

describe("insertData", () => {
  it("never leaves a blank line, behind which chdb would read a statement", () => {
    expect(insertData("JSONEachRow", '\n{"a":1}\n\n \n{"a":2}\n\n').text).toBe('{"a":1}\n{"a":2}');
    expect(insertData("CSV", "\n1\n2\n").text).toBe("1\n2");
    expect(() => insertData("CSV", '1,"a\n\nDROP TABLE t"')).toThrow(/blank line/);
    expect(() => insertData("TSV", "1\n\nDROP TABLE t")).toThrow(/blank line/);
  });

  it("takes rows of VALUES and nothing behind them", () => {
    expect(insertData("Values", " (1, -2.5e3, 'a;''b' ) ,\n(now64(3),{x:UInt8});\n").text).toBe(
      " (1, -2.5e3, 'a;''b' ) , (now64(3),{x:UInt8})",
    );
    for (const data of ["(1); DROP TABLE t", "(1) SELECT 1", "(1) /* */", "(1) -- ", "SELECT 1", "($$a$$)"])
      expect(() => insertData("Values", data)).toThrow(/./);
  });
});
