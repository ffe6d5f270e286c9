// The main job, end to end: a request goes in, is planned with examples, answered by an arm and
// recorded, in one process.
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, requestOf, startSystem, type TestSystem } from "../support/system.ts";

let system: TestSystem;

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), "precedent-log-"));
  const file = join(folder, "log.jsonl");
  const lines = Array.from({ length: 50 }, (_, i) =>
    JSON.stringify({ request: `question ${i}`, response: `answer ${i}` }),
  );
  await writeFile(file, lines.join("\n"));
  system = await startSystem({
    arms: [
      { name: "small", type: "recorded", file, cost: 0.1 },
      { name: "large", type: "recorded", file, cost: 1 },
    ],
  });
});
afterAll(() => system.stop());

test("a request is answered once and stands once in every table", async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => system.ask(`question ${i}`)));
  expect(answers.map(({ status, text }) => [status, text])).toEqual(answers.map((_, i) => ["ok", `answer ${i}`]));
  const { clickhouse } = system.session;
  const rows = await eventually("all rows", async () => {
    const [row] = await clickhouse.query<Record<string, number>>(
      `SELECT (SELECT count() FROM requests FINAL) AS requests, (SELECT count() FROM decisions FINAL) AS decisions,
              (SELECT count() FROM responses FINAL) AS responses`,
    );
    return row?.responses === 50 && row.decisions === 50 && row.requests === 50 ? row : undefined;
  });
  expect(rows).toEqual({ requests: 50, decisions: 50, responses: 50 });
});

test("a repeated id gets a copy of the first response, marked duplicate", async () => {
  const first = await system.ask("question 7");
  await system.produce([requestOf("question 7", { id: first.requestId })]);
  const copies = await eventually("the copy", async () => {
    const seen = system.responses.get(first.requestId) ?? [];
    return Promise.resolve(seen.length === 2 ? seen : undefined);
  });
  expect(copies[1]).toMatchObject({ duplicate: true, text: first.text, cost: 0 });
});
