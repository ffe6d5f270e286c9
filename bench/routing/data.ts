// The log that the routing benchmark reads: one line of JSON a request, with what a small and a
// large model answered and whether it was right. Any file of that form will do. What can't be used
// is refused with its line; texts of answers may be missing, since nothing here reads them.
import { objectLines, readDataFile, type ObjectLine } from "../support/data-file.ts";

export interface LoggedRequest {
  request: string;
  /** Quality of each answer, [0, 1]. */
  small: number;
  large: number;
}

export interface RoutingLog {
  rows: LoggedRequest[];
  /** What each row was made of, with all else that its line says. */
  lines: ObjectLine[];
  /** Names of the two models; "small" and "large" where the file has none. */
  models: { small: string; large: string };
}

/** Folds need rows on both sides. */
const fewestRows = 20;

/** Throws an error for people when the file is not there, or a line of it can't be used. */
export async function loadRoutingLog(data: string | undefined): Promise<RoutingLog> {
  const { text, file } = await readDataFile(data, "gsm8k-two-models-a.jsonl");
  return parseRoutingLog(text, file);
}

/** `file` is what errors call it. */
export function parseRoutingLog(text: string, file: string): RoutingLog {
  const models = { small: new Set<string>(), large: new Set<string>() };
  const lines = objectLines(text, file, '"request", "small" and "large"');
  const rows = lines.map(({ value: { request, small, large }, where }): LoggedRequest => {
    if (typeof request !== "string" || request.trim() === "")
      throw new Error(`${where}: "request" must be a text that is not empty`);
    return { request, small: answerOf(small, "small", where), large: answerOf(large, "large", where) };
  });
  if (rows.length < fewestRows)
    throw new Error(`${file} has ${rows.length} requests: at least ${fewestRows} are needed to keep some for testing`);
  return { rows, lines, models: { small: nameOf(models.small, "small"), large: nameOf(models.large, "large") } };

  function answerOf(value: unknown, name: "small" | "large", where: string): number {
    if (typeof value !== "object" || value === null)
      throw new Error(`${where}: "${name}" must be an object with "model" and "correct"`);
    const { model, correct } = value as Record<string, unknown>;
    if (typeof model === "string" && model !== "") models[name].add(model);
    const quality = typeof correct === "boolean" ? Number(correct) : correct;
    if (typeof quality !== "number" || !(quality >= 0 && quality <= 1))
      throw new Error(`${where}: "${name}.correct" must be true, false, or a number from 0 to 1`);
    return quality;
  }
}

/** Several names stand for one arm when the log mixes models: said as it is. */
const nameOf = (names: ReadonlySet<string>, otherwise: string): string =>
  names.size === 0 ? otherwise : [...names].slice(0, 4).join(", ");
