import { expect, test } from "vitest";
import { createSharedDomains } from "../../algorithms/selection/shared-domains.ts";
import { createSeen, type SeenDependencies } from "./seen.ts";

test("who asks in a domain that tenants share asks in their common domain, too; later looks go on from the newest", async () => {
  const asked: unknown[] = [];
  const rows = [
    { domain: "acme/support", partition: 1, newest: 5_000 },
    { domain: "acme/other", partition: 2, newest: 4_000 },
    { domain: "gamma/support", partition: 0, newest: 3_000 },
  ];
  const clickhouse = {
    query: async (_sql: string, parameters: unknown) => {
      asked.push(parameters);
      return rows;
    },
  } as unknown as SeenDependencies["clickhouse"];
  const sharing = createSharedDomains({ support: { tenants: ["acme", "beta"] } });
  const seen = createSeen({
    ...{ clickhouse, sharing, decisions: "decisions", lookBackMs: 9_000, overlapMs: 1_000, clock: () => 10_000 },
  });

  const pairs = await seen(4);
  expect(pairs).toEqual([
    { domain: "acme/support", partition: 1 },
    { domain: "+/support", partition: 1 },
    { domain: "acme/other", partition: 2 },
    { domain: "gamma/support", partition: 0 },
  ]);
  await seen(4);
  expect(asked).toEqual([
    { partitions: 4, decisions: "decisions", since: 1_000 },
    { partitions: 4, decisions: "decisions", since: 4_000 },
  ]);
});
