import { expect, it } from "vitest";
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import { figuresIn } from "./answers.ts";
import { withQuality } from "./quality.ts";

it("compares no version with what nothing was chosen for", async () => {
  const wanted: unknown[] = [];
  const query = (async (_sql: string, parameters: unknown) => {
    wanted.push(parameters);
    return [0, 1, 2].map((version) => ({ version, rated: 4, total: 2, squares: 1 }));
  }) as unknown as ClickHouse["query"];
  const learnt = [1, 2].map((version) => ({ name: "router", version, createdAt: 0, revertOf: null }));
  const [, second] = await withQuality({ query }, learnt);
  expect(wanted).toEqual([{ versions: [1, 2] }]);
  expect(second?.before).toMatchObject({ rated: 4, mean: 0.5 });
});

it("cuts steps before sums", () => {
  expect(figuresIn({})).toMatch(/ORDER BY level DESC, at, .* LIMIT \d+$/);
});
