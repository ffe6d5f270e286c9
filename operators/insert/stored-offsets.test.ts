import { expect, test } from "vitest";
import { createStoredOffsets, selectStored, storedUnder } from "./stored-offsets.ts";

const current = { cluster: "c", topicId: "new" };
const row = (origin: string, offset: number) => ({ origin, offset });

test("rows of the very origin say how far it is, whatever else is stored", () => {
  expect(storedUnder([row("", 900), row("c.old", 500), row("c.new", 7)], current)).toEqual({ offset: 7 });
});

test("rows from before origins were stored count as matching: an upgrade reads nothing again", () => {
  expect(storedUnder([row("", 900)], current)).toEqual({ offset: 900 });
  expect(storedUnder([row("", 900), row("c.", 950)], current)).toEqual({ offset: 950 });
});

test("beside rows of another topic or cluster they don't: the topic was made again since", () => {
  const nothing = { offset: undefined, anotherTopic: true };
  expect(storedUnder([row("", 900), row("c.old", 950)], current)).toEqual(nothing);
  expect(storedUnder([row("d.new", 950)], current)).toEqual(nothing);
});

test("without topic ids the cluster alone decides", () => {
  const plain = { cluster: "c", topicId: "" };
  expect(storedUnder([row("c.", 5)], plain)).toEqual({ offset: 5 });
  expect(storedUnder([row("d.", 5)], plain)).toEqual({ offset: undefined, anotherTopic: true });
});

test("nothing stored: from the earliest", () => {
  expect(storedUnder([], current)).toEqual({ offset: undefined });
});

test("asks once a topic, by partition and origin", async () => {
  const asked: unknown[] = [];
  const rows = [
    { partition: 0, origin: "c.old", offset: "40" },
    { partition: 1, origin: "c.new", offset: "3" },
  ];
  const query = <Row>(sql: string, parameters?: Record<string, unknown>): Promise<Row[]> => {
    asked.push([sql, parameters]);
    return Promise.resolve(rows as Row[]);
  };
  const stored = createStoredOffsets({ query }, () => "feedback");
  const at = (partition: number) => ({ topic: "t.feedback", partition });
  expect(await stored([0, 1, 2].map((partition) => ({ ...at(partition), origin: current })))).toEqual([
    { ...at(0), offset: undefined, anotherTopic: true },
    { ...at(1), offset: 3 },
    { ...at(2), offset: undefined },
  ]);
  expect(asked).toEqual([[selectStored("feedback"), { topic: "t.feedback" }]]);
  expect(selectStored("feedback")).toContain("GROUP BY kafka_partition, kafka_origin");
});
