import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readArrivals } from "./arrivals-file.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-arrivals-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function read(text: string): ReturnType<typeof readArrivals> {
  const file = join(folder, "trace.csv");
  await writeFile(file, text);
  return readArrivals(file, "trace.csv");
}

test("Azure's and BurstGPT's columns, by time", async () => {
  const azure = await read(
    "\uFEFFTIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:50.9951690,396,109\r\n2023-11-16 18:15:46.6805900,374,44\r\n\r\n",
  );
  expect(azure.arrivals).toEqual([
    { arrival: Date.UTC(2023, 10, 16, 18, 15, 46, 680), prompt: 374, completion: 44 },
    { arrival: Date.UTC(2023, 10, 16, 18, 15, 50, 995), prompt: 396, completion: 109 },
  ]);
  const burst = await read(
    'Timestamp,Session ID,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,,"ChatGPT, old",472,18,490,Conversation log\n45.5,1,GPT-4,1087,0,1087,API log\n',
  );
  expect(burst.arrivals).toEqual([
    { arrival: 5_000, prompt: 472, completion: 18 },
    { arrival: 45_500, prompt: 1_087, completion: 0 },
  ]);
});

test.each([
  ["a,b\n1,2\n", "trace.csv, row 1: no column of times"],
  ["TIMESTAMP,ContextTokens\n1,2\n", "trace.csv, row 1: no column of completion tokens"],
  ["Timestamp,Request tokens,Response tokens\n1,2,3\n4,x,6\n", 'trace.csv, row 3: prompt tokens: "x"'],
  ["Timestamp,Request tokens,Response tokens\n1,2,3\n4,5\n", 'trace.csv, row 3: completion tokens: ""'],
  ["Timestamp,Request tokens,Response tokens\n1,-2,3\n", 'trace.csv, row 2: prompt tokens: "-2"'],
  ["Timestamp,Request tokens,Response tokens\nyesterday,2,3\n", 'trace.csv, row 2: time: "yesterday"'],
  ["Timestamp,Request tokens,Response tokens\n1,2,3\n", "trace.csv: it has 1 requests"],
])("says file and row of what is wrong: %j", async (text, problem) => {
  await expect(read(text)).rejects.toThrow(problem);
});

test("a file that is not there", async () => {
  await expect(readArrivals(join(folder, "none.csv"), "none.csv")).rejects.toThrow("none.csv: there is no such file");
});
