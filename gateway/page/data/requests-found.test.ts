import { describe, expect, it } from "vitest";
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import type { RequestFilter } from "./filters.ts";
import { findRequests } from "./requests-found.ts";

/** The statements that a filter asks, of a table with nothing in it. */
async function asked(filter: Partial<RequestFilter>) {
  const statements: { sql: string; parameters: Record<string, unknown> }[] = [];
  const query: ClickHouse["query"] = async (sql, parameters = {}) => {
    statements.push({ sql, parameters });
    return [];
  };
  await findRequests({ query }, { from: 0, until: 10, ...filter });
  return statements;
}
const hostile = "') OR 1 = 1 --";

describe("requests that are looked for", () => {
  it.each(["tenant", "domain", "arm", "key", "source", "error", "user", "session", "search"])(
    "have the text of %s as a parameter only",
    async (name) => {
      for (const { sql, parameters } of await asked({ [name]: hostile })) {
        expect(sql).not.toContain("1 = 1");
        expect(sql).toContain(`{${name}:String}`);
        expect(parameters[name]).toBe(hostile);
      }
    },
  );

  it.each([
    ["team=search", "team", "search"],
    ["team", "team", ""],
    [" team = a=b ", "team", "a=b"],
    ["team=", "team", ""],
    [hostile, "') OR 1", "1 --"],
    ["=x", "", "x"],
  ])("have %j as the name and the value of a tag, as parameters only", async (given, tag, tagValue) => {
    for (const { sql, parameters } of await asked({ tag: given })) {
      expect(parameters).toMatchObject({ tag, tagValue });
      expect(sql).toContain("mapContains(metadata, {tag:String})");
      expect(sql.includes("{tagValue:String}")).toBe(tagValue !== "");
      expect(sql).not.toContain("1 --");
    }
  });

  it.each(["cost", "latency", "reward"] as const)("open, are found among requests also by %s", async (sort) => {
    const [found] = await asked({ state: "open", sort });
    expect(found?.sql).toMatch(/SELECT request_id, tenant FROM requests WHERE/);
  });

  it("are looked up on each shard of a cluster", async () => {
    for (const filter of [{ arm: "a", user: "u" }, { maxReward: 0.5 }, { state: "open" as const }, { search: "x" }])
      for (const { sql } of await asked(filter)) expect(sql).toMatch(/SETTINGS distributed_product_mode = 'local'$/);
  });

  it("are found by ratings that came later", async () => {
    const [found] = await asked({ maxReward: 0.5 });
    const [, ratings] = found?.sql.split("FROM rewards FINAL WHERE ") ?? [];
    expect(ratings).toMatch(/^newest_at >= .* AND weight > 0 AND reward <= \{maxReward:Float64\}\)/);
    expect(ratings).not.toContain("newest_at <");
  });

  it("rated, are those of an arm whenever it answered", async () => {
    const [byArm] = await asked({ sort: "reward", arm: "a", key: "k" });
    expect(byArm?.sql).toContain("AND arm = {arm:String} AND account = {key:String}");
    expect(byArm?.sql).not.toContain("FROM responses");
    const [failed] = await asked({ sort: "reward", arm: "a", state: "failed" });
    expect(failed?.sql).toContain("FROM responses");
  });

  it("are bounded in number, however far the page is", async () => {
    const [found] = await asked({ offset: 1_000, limit: 1e9 });
    expect(found?.parameters).toMatchObject({ offset: 1_000, limit: 200, most: 1_400 });
  });
});
