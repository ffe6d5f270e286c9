import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import type { LogRow } from "../state/log-replay-row.ts";
import { parseColumns, readLogFile, timeOf } from "./log-replay-file.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "precedent-log-replay-file-"));
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

async function read(lines: readonly object[], columns = new Map<string, string>()): Promise<LogRow[]> {
  const file = join(folder, `${Math.random()}.jsonl`);
  writeFileSync(file, lines.map((line) => JSON.stringify(line)).join("\n"));
  const rows: LogRow[] = [];
  for await (const some of readLogFile({ file, columns, folder, signal: new AbortController().signal }))
    rows.push(...some);
  return rows;
}

it("parses a time independently of this machine's time zone", () => {
  const at = Date.UTC(2026, 2, 29, 0, 30);
  for (const zone of ["UTC", "Europe/Berlin", "America/New_York"]) {
    vi.stubEnv("TZ", zone);
    for (const reported of [
      "2026-03-29T00:30:00Z",
      "2026-03-29 01:30:00+0100",
      "2026-03-29T02:30+02:00",
      "2026-03-29 00:30:00.000000",
    ])
      expect([zone, reported, timeOf(reported)]).toEqual([zone, reported, at]);
    // 02:30 on this day is no time in Berlin, and twice one in autumn.
    expect(timeOf("2026-03-29 02:30:00") - timeOf("2026-03-29 01:30:00")).toBe(3_600_000);
    expect(timeOf("2026-10-25 03:30:00") - timeOf("2026-10-25 01:30:00")).toBe(7_200_000);
    expect(timeOf("2026-04-01") - timeOf("2026-03-31")).toBe(86_400_000);
  }
  for (const reported of [at / 1_000, at, at * 1_000, String(at), String(at / 1_000)])
    expect(timeOf(reported)).toBe(at);
  expect(timeOf("yesterday")).toBeNaN();
});

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
