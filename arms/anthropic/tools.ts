// Tools, their choice and the format of an answer, from a chat completion's members to those of the
// Messages API. Schemas keep their text.
import { rawItems, rawMembers, RawJson } from "../../algorithms/text/exact-json.ts";
import { isObject } from "../../algorithms/text/json-shape.ts";
import { Unsendable } from "../openai/protocol.ts";

type Members = ReadonlyMap<string, string>;

const noInput = new RawJson('{"type":"object","properties":{}}');

/** Throws Unsendable. */
export function toolsOf(members: Members): object[] | undefined {
  if (members.has("functions")) throw new Unsendable("functions, only tools", "functions");
  const tools = rawItems(members.get("tools") ?? "[]").map((text, index) => {
    const tool: unknown = JSON.parse(text);
    const { type, function: called, cache_control: hint } = isObject(tool) ? tool : {};
    if (type !== "function" || !isObject(called)) throw new Unsendable("this tool", `tools[${index}]`);
    const { name, description, strict } = called;
    const parameters = rawMembers(rawMembers(text).get("function") ?? "{}").get("parameters") ?? "null";
    return {
      name,
      ...(typeof description === "string" && { description }),
      input_schema: parameters === "null" ? noInput : new RawJson(parameters),
      ...(strict === true && { strict }),
      ...(isObject(hint) && { cache_control: hint }),
    };
  });
  return tools.length === 0 ? undefined : tools;
}

export function toolChoiceOf(members: Members): object | undefined {
  const choice = JSON.parse(members.get("tool_choice") ?? "null") as unknown;
  const isAlone = members.get("parallel_tool_calls") === "false";
  const alone = isAlone ? { disable_parallel_tool_use: true } : {};
  if (choice === null || choice === "auto") return isAlone ? { type: "auto", ...alone } : undefined;
  if (choice === "none") return { type: "none" };
  if (choice === "required") return { type: "any", ...alone };
  const called = isObject(choice) ? choice["function"] : null;
  if (isObject(called)) return { type: "tool", name: called["name"], ...alone };
  throw new Unsendable("this choice of tools", "tool_choice");
}

/** output_config, for an answer by a schema. */
export function formatOf(format: string | undefined): object | undefined {
  if (format === undefined || format === "null") return undefined;
  const { type } = JSON.parse(format) as { type?: unknown };
  if (type === "text") return undefined;
  const schema = rawMembers(rawMembers(format).get("json_schema") ?? "{}").get("schema");
  if (type !== "json_schema" || schema === undefined) throw new Unsendable("this format", "response_format");
  return { format: { type, schema: new RawJson(schema) } };
}
