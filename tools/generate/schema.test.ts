import { expect, it } from "vitest";
import { describeSchema } from "./schema.ts";

const table = `-- A comment; with a semicolon.
CREATE TABLE IF NOT EXISTS {table:orders} {on_cluster}
(
    order_id String COMMENT 'The client''s; or not',
    items Array(Tuple(
        name String
    )) COMMENT 'Items',
    INDEX items_filter items TYPE minmax GRANULARITY 1
)
ENGINE = {replacing:order_id}
ORDER BY (order_id, items)
{ttl:order_id}
COMMENT 'What was ordered, by the client''s id';

{distributed:orders:cityHash64(order_id)};
`;
const view = (column: string, comment: string): string => `CREATE OR REPLACE VIEW {database}.totals {on_cluster}
(
    ${column} UInt64 COMMENT 'Number'
)
AS (
SELECT count() AS ${column} FROM {database}.orders FINAL
)
COMMENT '${comment}';
`;

it("reads comment and key; a later file describes what it creates again", () => {
  const files = [
    { name: "orders", sql: table + view("n", "Old") },
    { name: "totals", sql: view("total", "New") },
  ];
  const orders = { kind: "table", name: "orders", comment: "What was ordered, by the client's id" };
  expect(describeSchema(files)).toEqual([
    {
      name: "orders",
      objects: [
        { ...orders, key: ["order_id", "items"] },
        { kind: "view", name: "totals", comment: "New", key: [] },
      ],
    },
    { name: "totals", objects: [] },
  ]);
});

it("refuses what has no comment or no columns", () => {
  const bare = table.replace(/\nCOMMENT .*;/, ";");
  expect(() => describeSchema([{ name: "orders", sql: bare }])).toThrow("orders has no COMMENT at its end");
  const inferred = view("n", "A view").replace(/\n\(\n[^)]*\n\)\n/, "\n");
  expect(() => describeSchema([{ name: "totals", sql: inferred }])).toThrow("totals does not list its columns");
});

it("knows every table and view of schemas/clickhouse", () => {
  const objects = describeSchema().flatMap((file) => file.objects);
  expect(objects.length).toBeGreaterThan(50);
  expect(objects.find(({ name }) => name === "decisions")).toMatchObject({
    kind: "table",
    key: ["request_id", "tenant"],
  });
  for (const { name, kind, key, comment } of objects) {
    expect([name, key.length > 0]).toEqual([name, kind === "table"]);
    expect(comment.length, name).toBeLessThanOrEqual(160);
  }
});
