import { expect, it } from "vitest";
import type { Row } from "../../runtime/rows.ts";
import { createLogImport, type ImportRow } from "./import-log.ts";
import { logRowOf } from "./log-row.ts";
import type { ForeignFeedback } from "./presets/preset.ts";

const key = "a secret of sixteen";
const log = (row: number, more: object = {}): ImportRow => ({
  row,
  log: logRowOf(
    {
      id: `r${row}`,
      time: 1_790_000_000,
      request: "mail eve@acme.org",
      user: "ann",
      arm: "a",
      answer: "to eve@acme.org",
      ...more,
    },
    { index: row },
  ),
});
const feedback = (more: Partial<ForeignFeedback>): ImportRow => ({
  row: 9,
  feedback: { id: "f1", target: "r1", group: null, value: 1, text: null, author: "m", createdAt: null, ...more },
});

/** What is inserted, where queries by a table's name give these rows. */
function importing(stored: Record<string, readonly object[]> = {}, redact?: { key: string; ipAddresses: boolean }) {
  const inserted: [string, Row][] = [];
  const left: [string, number][] = [];
  const importRows = createLogImport({
    clickhouse: {
      query: <T>(sql: string) => Promise.resolve((stored[/FROM (\w+)/.exec(sql)![1]!] ?? []) as T[]),
      insert: (table, rows) =>
        Promise.resolve(void inserted.push(...(rows as Row[]).map((row): [string, Row] => [table, row]))),
    },
    embedder: { embedAll: (texts) => Promise.resolve(texts.map(() => new Float32Array(384).fill(0.05))) },
    arms: [],
    ...{ feedbackTopic: "feedback", file: "x".repeat(22), redact },
    onProblem: (reason, row) => void left.push([reason, row]),
  });
  return { importRows, inserted, left };
}

it("writes an arrival last, and what is there or erased not at all", async () => {
  const { importRows, inserted, left } = importing({
    request_arrivals: [{ request_id: "r2", tenant: "default" }],
    erasures: [{ hash: "not of these", before: null }],
  });
  const rows = [log(1, { reward: 1, correction: "c" }), log(1), log(2), log(3, { tenant: "acme", arm: null })];
  expect(await importRows(rows)).toEqual({ requests: 2, answers: 1, rewards: 1, corrections: 1, known: 2 });
  expect(inserted.map(([table]) => table)).toEqual([
    ...["requests", "requests", "responses", "decisions", "feedback", "feedback"],
    ...["request_arrivals", "request_arrivals"],
  ]);
  expect(left).toEqual([]);
});

it("keeps the tool calls of an answer, and the user once", async () => {
  const { importRows, inserted } = importing();
  const calls = [{ id: "c1", type: "function", function: { name: "w", arguments: '{"city":"Rome"}' } }];
  await importRows([log(1, { answer: null, tool_calls: calls, user: null, metadata: { user_id: "bob", page: "1" } })]);
  const row = (name: string) => inserted.find(([table]) => table === name)![1] as Record<string, string>;
  expect(JSON.parse(row("responses")["passthrough"]!)).toEqual({ message: { tool_calls: calls } });
  expect(row("requests")["metadata"]).toEqual({ user: "bob", page: "1" });
});

it("replaces personal data as record does, where that is configured", async () => {
  const { importRows, inserted } = importing({}, { key, ipAddresses: false });
  await importRows([log(1)]);
  const text = JSON.stringify(inserted);
  expect(text).not.toMatch(/eve@|"ann"/);
  expect(text.match(/<EMAIL_\d{9}>/g)?.length).toBe(2);
  expect(text).toMatch(/"user":"user-[0-9a-f]{16}"/);
});

it("puts feedback on requests of one tenant alone", async () => {
  const of = (tenant: string, id: string, member: string) => ({ id, tenant, at: 5, members: [member] });
  const { importRows, inserted, left } = importing({
    requests: [of("a", "r1", "e1"), of("a", "r2", "e1"), of("a", "r3", "e2"), of("b", "r3", "e2")],
  });
  const given = [
    { target: "r1" },
    { target: "r3" },
    { target: "e1", group: "episode" },
    { target: "e2", group: "episode" },
    { target: "r9" },
  ];
  expect(await importRows(given.map(feedback))).toMatchObject({ requests: 0, rewards: 3 });
  expect(inserted.map(([, row]) => [row.request_id, row.tenant])).toEqual([
    ["r1", "a"],
    ["r1", "a"],
    ["r2", "a"],
  ]);
  expect(left.map(([reason]) => reason)).toEqual([
    "several tenants have a request that it is on",
    "several tenants have a request that it is on",
    "no request that it is on is imported",
  ]);
});
