import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { personalTables } from "./personal-data.ts";

const folder = join(import.meta.dirname, "clickhouse");
const sql = readdirSync(folder)
  .filter((name) => name.endsWith(".sql"))
  .map((name) => readFileSync(join(folder, name), "utf8"))
  .join("\n");

describe("where personal data is kept", () => {
  it("lists every table of the migrations, and no other", () => {
    const tables = [...sql.matchAll(/CREATE TABLE IF NOT EXISTS \{table:([a-z_]+)\}/g)].map(([, name]) => name);
    // What applied migrations are kept in is made beside them.
    expect(Object.keys(personalTables).sort(), "personalTables of schemas/personal-data.ts").toEqual(
      [...tables, "migrations"].sort(),
    );
  });

  it("deletes requests last, because the rest is found by them", () => {
    const searched = Object.entries(personalTables).flatMap(([name, kept]) => ("none" in kept ? [] : [name]));
    expect(searched.at(-1)).toBe("requests");
  });
});
