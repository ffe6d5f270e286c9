// Reads what the files of schemas/clickhouse say about their tables and views: comment and
// identity. The reference part of docs/clickhouse.md is made from it (generate-parts.ts).
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { statements } from "../../connections/clickhouse/render.ts";

export interface SchemaObject {
  kind: "table" | "view";
  name: string;
  comment: string;
  /** What identifies a row: the sorting key. Empty for views. */
  key: string[];
}

/** A file and what it creates. */
export interface SchemaFile {
  /** Its name without number and ending. */
  name: string;
  objects: SchemaObject[];
}

const folder = new URL("../../schemas/clickhouse/", import.meta.url);

/**
 * The files in order. What a later file creates again is described there and stays in the first.
 * Throws where a statement that creates a table or a view has no comment or no columns.
 */
export function describeSchema(files: readonly { name: string; sql: string }[] = readFiles()): SchemaFile[] {
  const latest = new Map<string, SchemaObject>();
  const described = files.map(({ name, sql }) => ({ name, objects: objectsOf(sql) }));
  for (const { objects } of described) for (const object of objects) latest.set(object.name, object);
  const seen = new Set<string>();
  const firstOf = (objects: readonly SchemaObject[]): SchemaObject[] =>
    objects.flatMap(({ name }) => {
      const object = latest.get(name);
      if (object === undefined || seen.has(name)) return [];
      seen.add(name);
      return [object];
    });
  return described.map(({ name, objects }) => ({ name, objects: firstOf(objects) }));
}

const readFiles = (): { name: string; sql: string }[] =>
  readdirSync(folder)
    .filter((file) => file.endsWith(".sql"))
    .sort()
    .map((file) => ({
      name: file.replace(/^\d+_|\.sql$/g, ""),
      sql: readFileSync(fileURLToPath(new URL(file, folder)), "utf8"),
    }));

function objectsOf(sql: string): SchemaObject[] {
  return statements(sql).flatMap((statement) => {
    const text = statement.trim();
    const table = /^CREATE TABLE IF NOT EXISTS \{table:(\w+)\}/.exec(text)?.[1];
    const name =
      table ?? /^CREATE (?:OR REPLACE VIEW|MATERIALIZED VIEW IF NOT EXISTS) \{database\}\.(\w+)/.exec(text)?.[1];
    if (name === undefined) {
      if (text.startsWith("CREATE")) throw new Error(`a statement that creates what is not known: ${text}`);
      return [];
    }
    const comment = /\nCOMMENT '((?:[^']|'')*)'$/.exec(text)?.[1]?.replaceAll("''", "'");
    const columns = /\n\(\n([\s\S]*?)\n\)\n/.exec(text)?.[1] ?? "";
    if (comment === undefined) throw new Error(`${name} has no COMMENT at its end`);
    if (!/^ {4}(?!INDEX )\w+ /m.test(columns)) throw new Error(`${name} does not list its columns`);
    const key = table === undefined ? undefined : /\nORDER BY \(([^)]*)\)/.exec(text)?.[1];
    return [{ kind: table === undefined ? "view" : "table", name, comment, key: key?.split(", ") ?? [] }];
  });
}
