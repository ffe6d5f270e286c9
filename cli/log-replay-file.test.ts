import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { LogRow } from "../state/log-replay-row.ts";
import { costsOf, parseColumns, readLogFile, readWholeLog } from "./log-replay-file.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "precedent-log-replay-file-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const { signal } = new AbortController();
const costOf = costsOf((arm) => (arm === "small" ? { prompt: 1_000_000, completion: 10_000_000 } : undefined));
async function read(lines: readonly object[], columns = new Map<string, string>()): Promise<LogRow[]> {
  const file = join(folder, `${Math.random()}.jsonl`);
  writeFileSync(file, lines.map((line) => JSON.stringify(line)).join("\n"));
  const rows: LogRow[] = [];
  for await (const some of readWholeLog({ file, columns, costOf, signal })) rows.push(...some);
  return rows;
}

it("reads columns by other names, texts of CSV as numbers, and one request a second where no time is said", async () => {
  const columns = parseColumns("request=prompt, outcome=ok,arm=route");
  const rows = await read(
    [
      {
        prompt: "a",
        route: "small",
        answer: "x",
        ok: "true",
        propensity: "0.25",
        total_ms: "",
        cost: "0.5",
        extra: [1],
      },
      { messages: '[{"role":"user","content":"b"}]', id: 12, tenant: "t", domain: "d", reward: "0.5" },
    ],
    columns,
  );
  expect(rows[0]).toMatchObject({
    request: { createdAt: 1_000, tenant: "default", messages: [{ role: "user", content: "a" }] },
    answer: { arm: "small", text: "x", reward: 1, propensity: 0.25, serviceMs: null, cost: 0.5 },
  });
  expect(rows[1]).toMatchObject({ request: { id: "12", createdAt: 2_000, tenant: "t", domain: "d" }, answer: null });
  expect(() => parseColumns("question=prompt")).toThrow(/COLUMN is one of id, time/);
});

it.each([
  [{ time: 1 }, /row 2: it has neither request nor messages/],
  [{ request: "a", reward: 2 }, /row 2: reward: /],
  [{ request: "a", messages: "no list" }, /row 2: messages: /],
  [{ request: "a", id: "x".repeat(300) }, /row 2: id has 300 bytes/],
])("refuses %j, and says where", async (line, message) => {
  await expect(read([{ request: "fine" }, line])).rejects.toThrow(message);
});

it("goes on behind rows that it leaves out, and finds columns within others", async () => {
  const file = join(folder, "some.jsonl");
  const lines = [
    '{"request":"a","meta":{"team":"t1"}}',
    "no JSON",
    '{"answer":"x"}',
    '{"request":"b","meta":"{\\"team\\":\\"t2\\"}"}',
  ];
  writeFileSync(file, lines.join("\n"));
  const left: [string, number][] = [];
  const tenants: string[] = [];
  const options = { file, columns: parseColumns("tenant=meta.team"), costOf, signal };
  for await (const some of readLogFile({ ...options, onProblem: (reason, row) => left.push([reason, row]) }))
    tenants.push(...some.map((one) => ("log" in one ? one.log.request.tenant : "")));
  expect(tenants).toEqual(["t1", "t2"]);
  expect(left).toEqual([
    ["it is no JSON object", 2],
    [expect.stringMatching(/neither request nor messages/), 3],
  ]);
});

it("keeps of metadata beyond 64 KiB the user and what fits, and says of which rows", async () => {
  const file = join(folder, "long.jsonl");
  const metadata = { a: "x".repeat(40_000), b: "é".repeat(20_000), c: "y".repeat(20_000), user_id: "ann" };
  const edge = { a: "x".repeat(65_530), user: "bob" };
  writeFileSync(file, [metadata, edge].map((one) => JSON.stringify({ request: "q", metadata: one })).join("\n"));
  const cut: [string, number][] = [];
  const kept: [string, number][][] = [];
  const options = { file, columns: new Map<string, string>(), costOf, signal, onProblem: () => undefined };
  for await (const some of readLogFile({ ...options, onCut: (what, row) => cut.push([what, row]) }))
    for (const one of some)
      if ("log" in one)
        kept.push(Object.entries(one.log.request.metadata).map(([name, value]) => [name, value.length]));
  const [user, a, c] = [["user", 3] as const, ["a", 40_000] as const, ["c", 20_000] as const];
  expect(kept).toEqual([[user, a, c], [user]]);
  expect(cut).toEqual([1, 2].map((row) => ["metadata: members beyond 64 KiB", row]));
});

it("reckons a cost that is missing at the arm's prices, and leaves one that is there", async () => {
  const used = { request: "a", arm: "small", prompt_tokens: 10, cached_tokens: 4, completion_tokens: 2 };
  const rows = await read([used, { ...used, cost: null }, { ...used, cost: 0 }, { ...used, arm: "gone" }]);
  expect(rows.map(({ answer }) => answer!.cost)).toEqual([30, 30, 0, 0]);
});

it("gives rows without id one that is theirs in any copy of the file, and no other row's", async () => {
  const given = [
    { request: "a", time: 1_790_000_000 },
    { request: "b", time: 1_790_000_000 },
  ];
  const ids = async (lines: readonly object[]) => (await read(lines)).map(({ request }) => request.id);
  const [first, second] = await ids(given);
  expect(first).toMatch(/^row-1-[0-9a-f]{16}$/);
  // With a reward that was added since, and rows behind.
  expect(await ids([{ ...given[0], reward: 1 }, given[1]!, given[0]!])).toEqual([
    ...[first, second],
    expect.stringMatching(/^row-3-/),
  ]);
  // Another file: the same places, other questions or times.
  const others = await ids([
    { request: "c", time: 1_790_000_000 },
    { request: "b", time: 1_790_000_001 },
  ]);
  expect(new Set([first, second, ...others]).size).toBe(4);
});

it("reads a provider's bodies where they lie, whole, streamed or failed, and texts as they are", async () => {
  const usage = { input_tokens: 6, cache_read_input_tokens: 4, output_tokens: 2 };
  const whole = { role: "assistant", content: [{ type: "text", text: "a" }], stop_reason: "max_tokens", usage };
  const stream = [
    { type: "message_start", message: { usage: { ...usage, output_tokens: 1 } } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "a" } },
    { type: "message_delta", delta: { stop_reason: "max_tokens" }, usage: { output_tokens: 2 } },
  ];
  const columns = parseColumns("messages=request,answer=response,arm=request.model");
  const request = { model: "small", messages: [{ role: "user", content: "q" }] };
  const text = JSON.stringify(whole);
  const given = [whole, stream.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""), { error: "no" }, text];
  const rows = await read(
    given.map((response) => ({ request, response })),
    columns,
  );
  const said = {
    text: "a",
    finishReason: "length",
    promptTokens: 10,
    prefilledTokens: 6,
    completionTokens: 2,
    cost: 30,
  };
  expect(rows.map(({ answer }) => answer)).toMatchObject([said, said, { text: null }, { text }]);
});
