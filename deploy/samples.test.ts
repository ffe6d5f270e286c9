// The demo's data: pairs to learn from and questions that are not among them; and a log of answers
// to both, from which a recorded arm answers in benchmarks.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { canonicalText } from "../algorithms/text/canonical.ts";
import { readRecordedLog } from "../arms/recorded/log.ts";

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const text = z
  .string()
  .refine((value) => value === value.trim() && value !== "" && !value.includes("\n"), "one plain line");

function lines<T>(name: string, schema: z.ZodType<T>): T[] {
  const content = readFileSync(path(name), "utf8").trimEnd();
  return content.split("\n").map((line) => schema.parse(JSON.parse(line)));
}
const pairs = lines("shell-pairs.jsonl", z.strictObject({ request: text, response: text }));
const questions = lines(
  "shell-questions.jsonl",
  z.strictObject({ request: text, again: text, references: z.array(text).min(1) }),
);
const keys = (rows: { request: string }[]): string[] => rows.map(({ request }) => canonicalText(request).toLowerCase());

describe("sample data", () => {
  it("has some hundred pairs and 60 questions in two wordings, all different", () => {
    expect(pairs.length).toBeGreaterThanOrEqual(320);
    expect(questions).toHaveLength(60);
    const again = questions.map((question) => ({ request: question.again }));
    const all = [...keys(pairs), ...keys(questions), ...keys(again)];
    expect(new Set(all).size).toBe(all.length);
  });

  it("has in the log one to three answers to every question, a right one last", async () => {
    const log = await readRecordedLog(path("shell-log.jsonl"), "large");
    for (const { request, again, references } of questions) {
      for (const wording of [request, again]) {
        const answers = log.get(canonicalText(wording)) ?? [];
        expect(answers.length, wording).toBeGreaterThanOrEqual(1);
        expect(answers.length, wording).toBeLessThanOrEqual(3);
        expect(references, wording).toContain(answers.at(-1)?.text);
      }
    }
  });

  it("has in the log a good part of the pairs, answered as they are", async () => {
    const log = await readRecordedLog(path("shell-log.jsonl"), "large");
    const logged = pairs.filter(({ request }) => log.has(canonicalText(request)));
    expect(logged.length).toBeGreaterThan(pairs.length / 2);
    for (const { request, response } of logged) expect(log.get(canonicalText(request))?.[0]?.text).toBe(response);
  });
});
