// Langfuse: observations of type GENERATION and scores, as its interface, its API and its blob
// storage export write them. Read against 4.16.0 (packages/shared/src/domain, worker/src/features).
import { answerOf } from "../conversation.ts";
import { listOf } from "../../../algorithms/text/json-shape.ts";
import {
  amountOf,
  between,
  booleanOf,
  countOf,
  first,
  firstCount,
  firstMembers,
  firstName,
  isNone,
  meanScore,
  membersOf,
  milliseconds,
  numberOf,
  objectOf,
  parsed,
  RowProblem,
  timeOf,
  type Json,
} from "../foreign.ts";
import { answered, asked, type ForeignFeedback, type Preset } from "./preset.ts";

export const langfuse: Preset = (row) => {
  if ("value" in row && ("dataType" in row || "data_type" in row)) return { feedback: scoreRow(row) };
  const type = first(row, "type");
  const model = first(row, "model", "providedModelName", "provided_model_name");
  if (typeof type === "string" ? type.toUpperCase() !== "GENERATION" : model === undefined)
    throw new RowProblem("it is no observation of type GENERATION");
  if (firstName(row["level"])?.toUpperCase() === "ERROR") throw new RowProblem("its level is ERROR");

  const usage = firstMembers(row, "usageDetails", "usage_details", "usage");
  const costs = firstMembers(row, "costDetails", "cost_details");
  const parameters = membersOf(first(row, "modelParameters", "model_parameters"));
  const metadata = membersOf(row["metadata"]);
  const start = first(row, "startTime", "start_time");
  const input = parsed(row["input"]);
  const trace = firstName(first(row, "traceId", "trace_id"));
  return {
    columns: {
      ...{ id: row["id"], time: start, messages: asked(input, "input"), tools: objectOf(input)?.["tools"] ?? null },
      ...answered(answerOf(row["output"])),
      ...{ arm: model, model },
      cost:
        amountOf(first(row, "totalCost", "total_cost", "calculatedTotalCost")) ??
        sumOf(costs, "") ??
        amountOf(costs["total"]),
      prompt_tokens: tokensOf(usage, "input", row["inputUsage"], usage["promptTokens"], usage["prompt_tokens"]),
      completion_tokens: tokensOf(
        usage,
        "output",
        row["outputUsage"],
        usage["completionTokens"],
        usage["completion_tokens"],
      ),
      cached_tokens: sumOf(usage, "input", (name) => /cache_read|cached/.test(name)),
      total_ms: duration(row, "latency", start, first(row, "endTime", "end_time")),
      first_token_ms: duration(
        row,
        "timeToFirstToken",
        start,
        first(row, "completionStartTime", "completion_start_time"),
      ),
      max_tokens: firstCount(parameters["max_completion_tokens"], parameters["max_tokens"], parameters["maxTokens"]),
      temperature: numberOf(parameters["temperature"]),
      reward: scoreOf(row),
      user: firstName(
        ...[row["userId"], row["user_id"], metadata["langfuse_user_id"], metadata["user_id"], metadata["userId"]],
      ),
      metadata: trace === null ? null : { trace_id: trace },
    },
  };
};

/** Sum of the buckets of one side; cached, audio and other tokens have theirs. null: none. */
function sumOf(buckets: Json, side: string, counts: (name: string) => boolean = () => true): number | null {
  // Versions before 3 had "inputCost" beside the tokens.
  const isPart = (name: string): boolean =>
    name !== "total" && name.includes(side) && counts(name) && (side === "" || !/cost/i.test(name));
  const parts = Object.entries(buckets).flatMap(([name, value]) => (isPart(name) ? [amountOf(value)] : []));
  const known = parts.filter((part) => part !== null);
  return known.length === 0 ? null : known.reduce((sum, part) => sum + part, 0);
}
const tokensOf = (usage: Json, side: string, ...others: readonly unknown[]): number | null =>
  countOf(sumOf(usage, side)) ?? firstCount(...others);

/** Seconds, or milliseconds where the column says so; else from the times themselves. */
function duration(row: Json, name: string, start: unknown, end: unknown): number | null {
  const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return amountOf(row[`${name}Ms`]) ?? between(start, end) ?? milliseconds(first(row, name, snake));
}

const tagLists = new Set(["tags", "traceTags", "comments", "toolCalls", "tool_calls"]);

/** Scores in a column of their own, or each in a column by its name with a list of values. */
function scoreOf(row: Json): number | null {
  const scores = parsed(row["scores"]);
  const together = Array.isArray(scores) ? scores : Object.values(objectOf(scores) ?? {});
  const apart = Object.entries(row).flatMap(([name, value]) => {
    const list =
      tagLists.has(name) || name === "input" || name === "output" || name === "scores" ? [] : listOf(parsed(value));
    return list.every((one) => typeof one === "number" || typeof one === "boolean") ? list : [];
  });
  const values = [...(together as unknown[]), ...apart].flatMap((one): unknown[] =>
    Array.isArray(one) ? one : [objectOf(one) === undefined ? one : valueOf(objectOf(one)!)],
  );
  return meanScore(values);
}

/** null: it is none that can be compared; the value of a category or a correction is an index. */
function valueOf(score: Json): unknown {
  const type = firstName(first(score, "dataType", "data_type"))?.toUpperCase();
  if (type !== undefined && type !== "NUMERIC" && type !== "BOOLEAN") return null;
  const value = booleanOf(first(score, "stringValue", "string_value")) ?? score["value"];
  return isNone(value) ? null : value;
}

/** A score of its own, on an observation or on all generations of a trace. */
function scoreRow(row: Json): ForeignFeedback {
  const observation = firstName(first(row, "observationId", "observation_id"));
  const trace = firstName(first(row, "traceId", "trace_id"));
  const target = observation ?? trace;
  if (target === null) throw new RowProblem("the score is of no observation and no trace");
  const score = meanScore([valueOf(row)]);
  if (score === null) throw new RowProblem("the score is no number or boolean within 0 and 1");
  const at = timeOf(first(row, "timestamp"));
  return {
    ...{ id: firstName(row["id"]) ?? `${target}-${firstName(row["name"]) ?? ""}`, value: score, text: null },
    ...{
      target,
      group: observation === null ? "trace_id" : null,
      author: firstName(row["name"]) ?? "",
      createdAt: Number.isNaN(at) ? null : at,
    },
  };
}
