// A file of question and answer pairs, one JSON object a line, read in pieces.
import { createReadStream } from "node:fs";
import { z } from "zod";
import { broken, decoded, linesOf, longestLine, notUtf8 } from "../connections/lines.ts";
import { CommandError } from "./io.ts";
import { sizeOf } from "./table-file.ts";

const pair = z.object({
  request: z.string().trim().min(1),
  response: z.string().min(1),
  tenant: z.string().min(1).optional(),
  domain: z.string().min(1).optional(),
  /** How good the answer is, [0, 1]. */
  quality: z.number().min(0).max(1).optional(),
  model: z.string().optional(),
});
export type Pair = z.infer<typeof pair>;

const problemsReported = 10;

/** Number of pairs. CommandError with the first problems: nothing of a broken file is imported. */
export async function checkPairs(file: string): Promise<number> {
  await sizeOf(file);
  const problems: string[] = [];
  let count = 0;
  for await (const parsed of lines(file)) {
    if ("problem" in parsed) problems.push(parsed.problem);
    else count++;
    if (problems.length >= problemsReported) break;
  }
  if (problems.length > 0)
    throw new CommandError(`${file} was not imported:\n${problems.map((line) => `  ${line}`).join("\n")}`);
  if (count === 0) throw new CommandError(`${file} holds no pairs: one {"request": "...", "response": "..."} a line`);
  return count;
}

export async function* readPairs(file: string, size: number): AsyncGenerator<Pair[]> {
  let batch: Pair[] = [];
  for await (const parsed of lines(file)) {
    if ("problem" in parsed) throw new CommandError(`${file}: ${parsed.problem}`);
    batch.push(parsed.pair);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

async function* lines(file: string): AsyncGenerator<{ pair: Pair } | { problem: string }> {
  let number = 0;
  for await (const line of linesOf(file, longestLine, decoded(createReadStream(file), broken))) {
    number++;
    if (line.includes(broken)) yield { problem: `line ${number}: ${notUtf8}` };
    else if (line.trim() !== "") yield parse(line, number);
  }
}

function parse(line: string, number: number): { pair: Pair } | { problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return { problem: `line ${number}: no JSON` };
  }
  const checked = pair.safeParse(value);
  if (checked.success) return { pair: checked.data };
  const issue = checked.error.issues[0];
  return { problem: `line ${number}: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? "wrong"}` };
}
