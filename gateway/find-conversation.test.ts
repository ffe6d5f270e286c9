import { expect, it } from "vitest";
import type { ClickHouse } from "../connections/clickhouse/port.ts";
import { findConversation } from "./find-conversation.ts";

/** Sharing domains whose examples' texts are asked for. */
async function domainsFor(seesShared: boolean): Promise<unknown> {
  const asked: Record<string, unknown>[] = [];
  const shown = (id: string) => ({ examples: [{ id }] });
  const query: ClickHouse["query"] = <R>(sql: string, parameters: Record<string, unknown> = {}) => {
    const decision = {
      ...{ arm: "a", saturation: {}, cachedShares: {} },
      arms: [
        { arm: "a", ...shown("e1") },
        { arm: "b", ...shown("e2") },
        { arm: "c", ...shown("e1") },
      ],
    };
    const rows = sql.includes("FROM requests")
      ? [{ id: "r", tenant: "acme", domain: "acme/geo%2Fx" }]
      : sql.includes("FROM decisions")
        ? [decision]
        : [];
    if (sql.includes("FROM examples")) asked.push(parameters);
    return Promise.resolve(rows as R[]);
  };
  await findConversation({ query }, "r", "acme", { seesShared });
  expect(asked).toMatchObject([{ ids: ["e1", "e2"] }]);
  return asked[0]?.["domains"];
}

it("has the texts of what other tenants share for operators alone", async () => {
  expect(await domainsFor(false)).toEqual(["acme/geo%2Fx"]);
  expect(await domainsFor(true)).toEqual(["acme/geo%2Fx", "+/geo%2Fx"]);
});
