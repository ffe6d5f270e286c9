// The engine's own access control behind guard.ts: its user has grants on tables and no source, few
// engines, and fixed limits. file(), INTO OUTFILE and FROM INFILE are the guard's.
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { engines, limitNames, type Limits } from "./allowed.ts";

/** Limits of a stage's statement; no setting raises them. */
export const stageLimits: Limits = {
  max_execution_time: 600,
  max_memory_usage: Math.floor(totalmem() / 2),
  max_result_rows: 100_000_000,
  max_result_bytes: 1024 ** 3,
  max_rows_to_read: 1_000_000_000_000,
  max_bytes_to_read: 1024 ** 5,
  max_threads: Math.max(4, cpus().length),
  // Long lists are in the text (connections/clickhouse/parameters.ts); the parser takes memory.
  max_query_size: 64 * 1_048_576,
};
/** Limits of a reader's statement: several at once still leave memory to the stages. */
export const readerLimits: Limits = { ...stageLimits, max_memory_usage: Math.floor(totalmem() / 4) };

const grants =
  "SELECT, INSERT, CREATE DATABASE, CREATE TABLE, CREATE VIEW, DROP DATABASE, DROP TABLE, DROP VIEW, ALTER UPDATE, " +
  "ALTER DELETE, ALTER COLUMN, ALTER INDEX, ALTER PROJECTION, ALTER ORDER BY, ALTER TTL, ALTER SETTINGS, ALTER VIEW, TRUNCATE, OPTIMIZE, SHOW, KILL QUERY";

const element = (name: string, content: string | number): string => `<${name}>${content}</${name}>`;

function users(): string {
  const limits = limitNames.map((name) => element(name, element("max", stageLimits[name])));
  // async_insert is on by default in this version; a row must be on disk when its INSERT is
  // acknowledged.
  const parsed = element("max_query_size", stageLimits.max_query_size);
  const profile = element("async_insert", 0) + parsed + element("constraints", limits.join(""));
  const queries = [`GRANT ${grants} ON *.*`, ...[...engines].map((name) => `GRANT TABLE ENGINE ON \`${name}\``)];
  const user = [
    element("password", ""),
    element("networks", element("ip", "::/0")),
    element("profile", "default"),
    element("quota", "default"),
    element("grants", queries.map((query) => element("query", query)).join("")),
  ];
  return [
    element("profiles", element("default", profile)),
    element("users", element("default", user.join(""))),
    element("quotas", element("default", "")),
  ].join("");
}

/** Writes access control files; returns the engine's first arguments. */
export function accessArguments(folder: string): string[] {
  mkdirSync(join(folder, "user_files"), { recursive: true, mode: 0o700 });
  const write = (name: string, content: string): string => {
    const file = join(folder, name);
    writeFileSync(file, `<clickhouse>${content}</clickhouse>\n`, { mode: 0o600 });
    chmodSync(file, 0o600);
    return file;
  };
  const usersFile = write("users.xml", users());
  const escaped = (text: string): string => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
  const config = write(
    "config.xml",
    element("users_config", escaped(usersFile)) + element("user_files_path", `${escaped(join(folder, "user_files"))}/`),
  );
  return [`--config-file=${config}`];
}
