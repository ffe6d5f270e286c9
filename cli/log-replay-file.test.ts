import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { LogRow } from "../state/log-replay-row.ts";
import { parseColumns, readLogFile, readWholeLog } from "./log-replay-file.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "precedent-log-replay-file-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const { signal } = new AbortController();
async function read(lines: readonly object[], columns = new Map<string, string>()): Promise<LogRow[]> {
  const file = join(folder, `${Math.random()}.jsonl`);
  writeFileSync(file, lines.map((line) => JSON.stringify(line)).join("\n"));
  const rows: LogRow[] = [];
  for await (const some of readWholeLog({ file, columns, signal })) rows.push(...some);
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
  const options = { file, columns: parseColumns("tenant=meta.team"), signal };
  for await (const some of readLogFile({ ...options, onProblem: (reason, row) => left.push([reason, row]) }))
    tenants.push(...some.map((one) => ("log" in one ? one.log.request.tenant : "")));
  expect(tenants).toEqual(["t1", "t2"]);
  expect(left).toEqual([
    ["it is no JSON object", 2],
    [expect.stringMatching(/neither request nor messages/), 3],
  ]);
});
