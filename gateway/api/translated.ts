// A chat completion's body translated from another format. Errors name the members of the client's
// own body.
import { hintNames } from "../../algorithms/routing/passthrough.ts";
import { exactJson, rawItems, RawJson } from "../../algorithms/text/exact-json.ts";
import { isObject } from "../../algorithms/text/json-shape.ts";
import { ApiError, badRequest } from "../errors.ts";
import { chatRequest, type ChatBody, type Served } from "./request.ts";

export interface Translation {
  /** May hold RawJson. */
  chat: Record<string, unknown>;
  /** The path of each message in the client's body. */
  origins: readonly string[];
  /** The client's names for members of a chat completion, if they differ. */
  names: Readonly<Record<string, string>>;
}

/** Throws ApiError. */
export function translatedRequest({ chat, origins, names }: Translation, served: Served): ChatBody {
  const text = exactJson(chat);
  const pathOf = (path: string): string =>
    path
      .replace(/^messages\[(\d+)\].*/, (_, index) => origins[Number(index)] ?? "")
      .replace(/^\w+/, (name) => names[name] ?? name);
  try {
    const read = chatRequest(JSON.parse(text), served, text);
    const fields = new Map([...read.fields].map(([capability, path]) => [capability, pathOf(path)]));
    return { ...read, fields, pathOf };
  } catch (error) {
    if (!(error instanceof ApiError) || error.param === undefined) throw error;
    const { status, code, param, message } = error;
    throw new ApiError({ status, code, param: pathOf(param), message: message.replace(param, () => pathOf(param)) });
  }
}

/** Members of the client's body by name, as they are written. */
export type Written = ReadonlyMap<string, string>;

/** A value of the body: parsed, as it is written, and its path. */
export interface At {
  value: unknown;
  text: string;
  path: string;
}

/** The values of a list in the body; none where it is missing. Throws ApiError: it is no list. */
export function listedIn(body: Readonly<Record<string, unknown>>, written: Written, name: string): At[] {
  const values = body[name] ?? [];
  if (!Array.isArray(values)) throw badRequest(`${name} must be a list.`, name);
  const texts = rawItems(written.get(name) ?? "[]");
  return (values as unknown[]).map((value, i) => ({ value, text: texts[i] ?? "null", path: `${name}[${i}]` }));
}

/** Members that both formats have, as they are written. */
export const copied = (written: Written, names: readonly string[]): Record<string, RawJson> =>
  Object.fromEntries(
    names.flatMap((name) => {
      const text = written.get(name);
      return text === undefined ? [] : [[name, new RawJson(text)] as const];
    }),
  );

/** A function as chat completions have it. parameters: JSON; absent or null: it takes none. */
export function functionTool(name: string, tool: unknown, parameters = "null"): object {
  const { description, strict } = isObject(tool) ? tool : {};
  return {
    type: "function",
    function: {
      name,
      ...(typeof description === "string" && { description }),
      ...(typeof strict === "boolean" && { strict }),
      ...(parameters !== "null" && { parameters: new RawJson(parameters) }),
    },
  };
}

export const namedFunction = (name: unknown): object => ({ type: "function", function: { name } });

/** Text alone is one text: not every endpoint accepts parts everywhere. */
export const contentOf = <P extends { type: string; text?: string }>(parts: readonly P[]): string | readonly P[] =>
  parts.every((part) => part.type === "text" && !hintNames.some((name) => name in part))
    ? parts.map(({ text = "" }) => text).join("\n")
    : parts;
