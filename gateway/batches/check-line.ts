// Finds what is wrong with a line of an upload, with OpenAI's codes. The body is translated only
// when the line is asked: a wrong body fails that line, not the batch.
import { isObject } from "../../algorithms/text/json-shape.ts";
import type { LineProblem } from "../../schemas/types.ts";
import { ApiError } from "../errors.ts";
import { parseJson } from "../json.ts";
import type { RawLine } from "./split-lines.ts";

export interface CheckedLine {
  text: string;
  customId: string | null;
  problem: LineProblem | null;
}

/** Characters of a custom_id. */
const longestId = 512;
const utf8 = new TextDecoder("utf-8", { fatal: true });
const idAtBegin = /"custom_id"\s*:\s*("(?:[^"\\]|\\.){1,512}")/;

export function checkLine({ line, bytes, tooLong }: RawLine): CheckedLine {
  const wrong = (code: string, message: string, param: string | null = null, text = bytes.toString()): CheckedLine => ({
    ...{ text, customId: null, problem: { line, code, message: `Line ${line}: ${message}`, param } },
  });
  if (tooLong) {
    const [, id] = idAtBegin.exec(bytes.toString()) ?? [];
    return { text: bytes.toString(), customId: id === undefined ? null : textOf(id), problem: null };
  }
  let text: string;
  let value: unknown;
  try {
    text = utf8.decode(bytes);
  } catch {
    return wrong("invalid_json_line", "it is not UTF-8.");
  }
  try {
    value = parseJson(text);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return wrong("invalid_json_line", error.message.replace("The body", "it"));
  }
  if (!isObject(value)) return wrong("invalid_json_line", "it is not a JSON object.");
  const { custom_id: customId, method, url, body } = value;
  if (typeof customId !== "string" || customId === "" || customId.length > longestId)
    return wrong(
      "missing_required_parameter",
      `custom_id must be a string of 1 to ${longestId} characters.`,
      "custom_id",
    );
  if (method !== "POST") return wrong("invalid_method", "method must be POST.", "method");
  if (typeof url !== "string") return wrong("missing_required_parameter", "url must be a string.", "url");
  if (!isObject(body)) return wrong("missing_required_parameter", "body must be a JSON object.", "body");
  return { text, customId, problem: null };
}

/** Null: not valid JSON. */
function textOf(json: string): string | null {
  try {
    return String(JSON.parse(json));
  } catch {
    return null;
  }
}
