// Rows of other systems' exports in the columns of docs/import.md: LiteLLM's standard logging
// payload, Langfuse's observations (from its interface, its API, or its blob storage). Pure.

type Json = Record<string, unknown>;
/** null: a row that is no request to a chat model. */
export type Preset = (row: Json) => Json | null;

const objectOf = (value: unknown): Json | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
/** Exports hold JSON as text where their columns are texts. */
function parsed(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*[[{"]/.test(value)) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}
const first = (row: Json, ...names: string[]): unknown =>
  names.map((name) => row[name]).find((value) => value !== undefined && value !== null && value !== "");
const number = (value: unknown): number | null => {
  const reported = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof reported === "number" && Number.isFinite(reported) ? reported : null;
};
const milliseconds = (seconds: unknown): number | null => {
  const reported = number(seconds);
  return reported === null || reported < 0 ? null : Math.round(reported * 1_000);
};

/** A message's text: parts of text joined; null where it has none. */
function textOf(content: unknown): string | null {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return null;
  const parts = content.map((part) => objectOf(part)?.["text"]).filter((text) => typeof text === "string");
  return parts.length === 0 ? null : parts.join("");
}

/** Turns with a text of the roles that there are; null: it is no conversation. */
function messagesOf(value: unknown): { role: string; content: string }[] | null {
  const reported = parsed(value);
  const list = Array.isArray(reported) ? reported : objectOf(reported)?.["messages"];
  if (!Array.isArray(list)) {
    const text = typeof reported === "string" ? reported : textOf(objectOf(reported)?.["content"]);
    return text === null || text.trim() === "" ? null : [{ role: "user", content: text }];
  }
  const turns = list.flatMap((one) => {
    const { role, content } = objectOf(one) ?? {};
    const text = textOf(content);
    const named = role === "developer" ? "system" : role;
    return text !== null && ["system", "user", "assistant", "tool"].includes(String(named))
      ? [{ role: String(named), content: text }]
      : [];
  });
  return turns.some(({ role }) => role === "user") ? turns : null;
}

/** Answer text of a chat completion, a message, or a string; null: none of these. */
function answerOf(value: unknown): string | null {
  const reported = parsed(value);
  if (typeof reported === "string") return reported;
  const list = Array.isArray(reported) ? reported : [reported];
  const object = objectOf(list[0]);
  if (object === undefined) return null;
  const [choice] = Array.isArray(object["choices"]) ? (object["choices"] as unknown[]) : [];
  return textOf((objectOf(objectOf(choice)?.["message"]) ?? object)["content"]);
}

const litellm: Preset = (row) => {
  const status = row["status"];
  const call = row["call_type"];
  if (status !== undefined && status !== "success") return null;
  if (typeof call === "string" && !/completion|responses/.test(call)) return null;
  const metadata = objectOf(row["metadata"]) ?? {};
  const parameters = objectOf(row["model_parameters"]) ?? {};
  const { startTime, completionStartTime } = row;
  const wait = (number(completionStartTime) ?? Number.NaN) - (number(startTime) ?? Number.NaN);
  return {
    ...{ id: row["id"], time: startTime, messages: messagesOf(row["messages"]), answer: answerOf(row["response"]) },
    ...{ arm: first(row, "model_group", "model"), model: row["model"], cost: number(row["response_cost"]) },
    ...{ prompt_tokens: number(row["prompt_tokens"]), completion_tokens: number(row["completion_tokens"]) },
    total_ms: milliseconds(row["response_time"]),
    first_token_ms: wait >= 0 ? milliseconds(wait) : null,
    max_tokens: number(parameters["max_tokens"]),
    temperature: number(parameters["temperature"]),
    tenant: first(metadata, "user_api_key_team_alias", "user_api_key_team_id") ?? "default",
  };
};

/** The mean of an observation's numeric scores in [0, 1]; others have no known scale. */
function scoreOf(scores: unknown): number | null {
  const reported = parsed(scores);
  const list = Array.isArray(reported) ? reported : Object.values(objectOf(reported) ?? {});
  const values = list
    .flatMap((one): unknown[] => (Array.isArray(one) ? one : [objectOf(one)?.["value"] ?? one]))
    .map((one) => (typeof one === "boolean" ? Number(one) : number(one)))
    .filter((one) => one !== null && one >= 0 && one <= 1) as number[];
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

const langfuse: Preset = (row) => {
  const type = row["type"];
  if (typeof type === "string" && type.toUpperCase() !== "GENERATION") return null;
  const usage = objectOf(parsed(first(row, "usage_details", "usageDetails", "usage"))) ?? {};
  const parameters = objectOf(parsed(first(row, "model_parameters", "modelParameters"))) ?? {};
  const model = first(row, "model", "provided_model_name", "providedModelName");
  return {
    ...{ id: row["id"], time: first(row, "start_time", "startTime"), messages: messagesOf(row["input"]) },
    ...{ answer: answerOf(row["output"]), arm: model, model },
    cost: number(first(row, "total_cost", "totalCost", "calculatedTotalCost")),
    prompt_tokens: number(first(usage, "input", "promptTokens", "prompt_tokens")),
    completion_tokens: number(first(usage, "output", "completionTokens", "completion_tokens")),
    total_ms: milliseconds(row["latency"]),
    first_token_ms: milliseconds(first(row, "time_to_first_token", "timeToFirstToken")),
    max_tokens: number(parameters["max_tokens"]),
    temperature: number(parameters["temperature"]),
    reward: scoreOf(row["scores"]),
  };
};

/** What holds no question in words is no request that could be routed. */
const asked =
  (preset: Preset): Preset =>
  (row) => {
    const made = preset(row);
    return made === null || made["messages"] === null ? null : made;
  };

export const presets: Readonly<Record<string, Preset>> = { litellm: asked(litellm), langfuse: asked(langfuse) };
