import { expect, it } from "vitest";
import { readMigrations } from "../../connections/clickhouse/migrate.ts";
import { statements } from "./rows.ts";

/** Members between brackets, those within inner brackets not counted. */
function membersOf(text: string): number {
  let [depth, commas] = [0, 0];
  for (const character of text) {
    if ("([".includes(character)) depth++;
    else if (")]".includes(character)) depth--;
    else if (character === "," && depth === 0) commas++;
  }
  return commas + 1;
}

it("gives a candidate arm all members that the table has", async () => {
  const [records] = await readMigrations();
  const table = /\n {4}arms Array\(Tuple\(\n([^]*?)\n {4}\)\) COMMENT/.exec(records?.sql ?? "")?.[1] ?? "";
  const written = statements(0, 1, 0, 1).find((sql) => sql.startsWith("INSERT INTO decisions")) ?? "";
  const arms = [...written.matchAll(/\('(?:small|large)', (?:[^()]*)\)/g)].map(([tuple]) => tuple.slice(1, -1));
  expect(membersOf(table)).toBeGreaterThan(5);
  expect(arms.map(membersOf)).toEqual([membersOf(table), membersOf(table)]);
});
