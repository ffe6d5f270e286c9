import fc from "fast-check";
import { expect, it } from "vitest";
import { bindParameters } from "./parameters.ts";

const sql = "SELECT {a:Array(String)} AS a, {b:Array(UInt32)} AS b, {c:String} AS c WHERE x IN {a:Array(String)}";

it("leaves short parameters to the URL", () => {
  const parameters = { a: ["x"], b: [1], c: "y" };
  expect(bindParameters(sql, parameters)).toEqual({ query: sql, query_params: parameters });
  expect(bindParameters(sql, undefined)).toEqual({ query: sql });
});

it("moves the longest list into the text, wherever it stands, and the others only where needed", () => {
  const a = Array.from({ length: 1_000 }, (_, i) => `it's \\ {b:Array(UInt32)} $& ${i}`);
  const { query, query_params: left, clickhouse_settings: settings } = bindParameters(sql, { a, b: [1], c: "y" });
  expect(left).toEqual({ b: [1], c: "y" });
  expect(query.split(String.raw`CAST('[\'it\\\'s \\\\ {b:Array(UInt32)} $& 0\',`).length).toBe(3);
  expect(query).toContain("{b:Array(UInt32)} AS b, {c:String} AS c");
  expect(query).toContain(String.raw`999\']', 'Array(String)')`);
  expect(Number(settings!.max_query_size)).toBeGreaterThan(Buffer.byteLength(query));
  const b = Array.from({ length: 5_000 }, (_, i) => i);
  expect(bindParameters(sql, { a, b, c: "y" }).query_params).toEqual({ c: "y" });
});

it("leaves at most a few KiB of lists to the URL, whatever they hold", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "binary", maxLength: 400 })), (a) => {
      const { query_params: left } = bindParameters(sql, { a, b: [], c: "" });
      const url = new URLSearchParams(
        Object.entries(left!).map(([name, value]): [string, string] => [name, JSON.stringify(value)]),
      );
      expect(url.toString().length).toBeLessThan(8_192);
    }),
  );
});

it("moves values of any type, texts as they are, as the server reads them in a URL", () => {
  const types = "{ s : String }, {e:Array(Enum8('a' = 1))}, {n:Array(Array(Nullable(String)))}, {m:Map(String, UInt8)}";
  const s = `it's \\N \n{e:x} $& ${"x".repeat(5_000)}`;
  const e = Array.from({ length: 3_000 }, () => "a");
  const m = { key: 1 };
  const { query, query_params: left } = bindParameters(`SELECT ${types}`, { s, e, n: [["'", null]], m });
  expect(left).toEqual({ n: [["'", null]], m });
  expect(query).toContain(`SELECT CAST('it\\'s \\\\N \n{e:x} $& xx`);
  expect(query).toContain(String.raw`\'a\']', 'Array(Enum8(\'a\' = 1))')`);
  expect(query).toContain("{n:Array(Array(Nullable(String)))}");
  expect(query).toContain("{m:Map(String, UInt8)}");
});

it("moves no name of a column, no null and nothing that the statement does not have", () => {
  const long = "x".repeat(5_000);
  const given = { table: long, other: [long], none: null };
  const statement = "SELECT {none:Nullable(String)} FROM {table:Identifier}";
  expect(bindParameters(statement, given)).toEqual({ query: statement, query_params: given });
});
