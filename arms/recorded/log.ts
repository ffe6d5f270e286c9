// Reads a log of answers, JSON Lines of {request, response | responses[], arm?, model?, usage?,
// cost?, latencyMs?}, checked whole when loaded.
import { z } from "zod";
import { messageOf } from "../../connections/errors.ts";
import { linesOf } from "../../connections/lines.ts";
import { canonicalText } from "../../algorithms/text/canonical.ts";

const count = z.number().int().nonnegative();
const usageSchema = z
  .object({
    ...{ prompt: count, completion: count },
    ...{ cached: count.default(0), cacheWrite: count.default(0), reasoning: count.default(0) },
  })
  .refine(({ prompt, cached, cacheWrite }) => cached + cacheWrite <= prompt, {
    message: "cached and cacheWrite are parts of prompt, and must not be more",
  })
  .refine(({ completion, reasoning }) => reasoning <= completion, {
    message: "reasoning is a part of completion, and must not be more",
  });
const lineSchema = z
  .object({
    request: z.string().refine((text) => canonicalText(text) !== "", "must not be blank"),
    response: z.string().optional(),
    responses: z.array(z.string()).min(1).optional(),
    arm: z.string().optional(),
    model: z.string().optional(),
    usage: usageSchema.optional(),
    cost: z.number().nonnegative().optional(),
    latencyMs: z.number().nonnegative().optional(),
  })
  .refine((line) => (line.response === undefined) !== (line.responses === undefined), {
    message: "needs either response or responses",
  });

export type RecordedUsage = z.infer<typeof usageSchema>;
export interface RecordedAnswer {
  text: string;
  model: string | undefined;
  usage: RecordedUsage | undefined;
  cost: number | undefined;
  latencyMs: number | undefined;
}

/** By canonical request; lines without an arm are for all. Rejects with the first wrong line. */
export async function readRecordedLog(file: string, arm: string): Promise<Map<string, RecordedAnswer[]>> {
  const answers = new Map<string, RecordedAnswer[]>();
  let number = 0;
  for await (const text of readable(file, arm)) {
    number += 1;
    if (text.trim() === "") continue;
    const line = parseLine(text, `${file}:${number}`);
    if (line.arm !== undefined && line.arm !== arm) continue;
    const key = canonicalText(line.request);
    const known = answers.get(key) ?? [];
    const { model, usage, cost, latencyMs } = line;
    for (const response of line.responses ?? [line.response ?? ""])
      known.push({ text: response, model, usage, cost, latencyMs });
    answers.set(key, known);
  }
  return answers;
}

async function* readable(file: string, arm: string): AsyncGenerator<string> {
  try {
    yield* linesOf(file);
  } catch (error) {
    const reason = messageOf(error);
    throw new Error(`The log of arm "${arm}" can't be read: ${reason}. Check its "file".`, { cause: error });
  }
}

function parseLine(text: string, where: string): z.infer<typeof lineSchema> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(
      `${where}: no JSON (${error instanceof Error ? error.name : "error"}); one object a line is expected.`,
    );
  }
  const parsed = lineSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => `${issue.path.join(".") || "line"}: ${issue.message}`);
  throw new Error(
    `${where}: ${issues.join("; ")}. Expected {request, response | responses[], arm?, model?, usage?, cost?, latencyMs?}.`,
  );
}
