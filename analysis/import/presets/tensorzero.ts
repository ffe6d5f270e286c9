// TensorZero: rows of its ClickHouse tables, told apart by their columns: inferences, feedback,
// datapoints. Read against 2026.4.1 (db/clickhouse/migration_manager/migrations).
import { answerOf } from "../conversation.ts";
import {
  amountOf,
  booleanOf,
  countOf,
  first,
  firstName,
  isNone,
  membersOf,
  numberOf,
  parsed,
  RowProblem,
  textsOf,
  timeOf,
  timeOfId,
  type Json,
} from "../foreign.ts";
import { answered, asked, type ForeignFeedback, type Mapped, type Preset } from "./preset.ts";

export const tensorzero: Preset = (row) => {
  if ("target_id" in row) return { feedback: metricOf(row) };
  if ("inference_id" in row && "model_name" in row) return modelInference(row);
  if ("inference_id" in row) return { feedback: demonstrationOf(row) };
  if ("dataset_name" in row) return datapoint(row);
  if ("function_name" in row && "variant_name" in row) return inference(row);
  throw new RowProblem("it is no row of a table of inferences, feedback or datapoints");
};

/** Materialized columns are not in SELECT *, but every id is a UUID with its time. */
const timeIn = (row: Json, id: unknown): unknown => first(row, "timestamp") ?? timeOfId(id);

const millisecondsIn = (row: Json, id: unknown): number | null => {
  const at = timeOf(timeIn(row, id));
  return Number.isNaN(at) ? null : at;
};

/** ChatInference or JsonInference; tokens and costs where they are joined from ModelInference. */
function inference(row: Json): Mapped {
  const parameters = membersOf(membersOf(row["inference_params"])["chat_completion"]);
  return {
    columns: {
      ...{ id: row["id"], time: timeIn(row, row["id"]), messages: asked(row["input"], "input") },
      ...{ tools: null, ...answered(answerOf(row["output"])), ...usageIn(row) },
      ...{ arm: row["variant_name"], model: first(row, "model_name") ?? null, domain: row["function_name"] },
      total_ms: amountOf(row["processing_time_ms"]),
      max_tokens: countOf(parameters["max_tokens"]),
      temperature: numberOf(parameters["temperature"]),
      ...ofTags(row),
    },
  };
}

const usageIn = (row: Json) => ({
  prompt_tokens: countOf(row["input_tokens"]),
  cached_tokens: countOf(row["provider_cache_read_input_tokens"]),
  completion_tokens: countOf(row["output_tokens"]),
  cost: amountOf(row["cost"]),
  first_token_ms: amountOf(row["ttft_ms"]),
});

function ofTags(row: Json) {
  const tags = textsOf(row["tags"]);
  const user = firstName(tags["user_id"], tags["user"], tags["end_user"], tags["userId"]);
  const episode = firstName(row["episode_id"]);
  return { user, metadata: { ...tags, ...(episode === null ? {} : { episode_id: episode }) } };
}

/** A call of a model; the request is the inference that it was made for. */
function modelInference(row: Json): Mapped {
  const { inference_id: id, system } = row;
  const messages = { system: isNone(system) ? null : system, messages: parsed(row["input_messages"]) };
  const isHit = booleanOf(row["cached"]) === true;
  const answer = answered(answerOf(row["output"]));
  return {
    columns: {
      ...{ id, time: timeIn(row, row["id"]), messages: asked(messages, "input_messages"), ...answer, ...usageIn(row) },
      finish_reason: firstName(row["finish_reason"]),
      ...{ arm: row["model_name"], model: row["model_name"], domain: first(row, "function_name") ?? null },
      total_ms: isHit ? null : amountOf(row["response_time_ms"]),
      ...(isHit ? { first_token_ms: null } : {}),
    },
  };
}

/** A question with the answer that is wanted: a request with a correction. */
function datapoint(row: Json): Mapped {
  if (booleanOf(row["is_deleted"]) === true || !isNone(row["staled_at"]))
    throw new RowProblem("the datapoint is deleted");
  const output = answerOf(row["output"]);
  return {
    columns: {
      ...{
        id: row["id"],
        time: first(row, "updated_at") ?? timeOfId(row["id"]),
        messages: asked(row["input"], "input"),
      },
      ...{ domain: row["function_name"], correction: output === null || output.text === "" ? null : output.text },
      ...ofTags(row),
    },
  };
}

/** BooleanMetricFeedback and FloatMetricFeedback, on an inference or on all of an episode. */
function metricOf(row: Json): ForeignFeedback {
  if ("target_type" in row) throw new RowProblem("a comment rates nothing");
  const truth = booleanOf(row["value"]);
  const value = truth === null ? numberOf(row["value"]) : Number(truth);
  if (value === null || value < 0 || value > 1) throw new RowProblem("the value is no number within 0 and 1");
  const target = firstName(row["target_id"]);
  if (target === null) throw new RowProblem("the feedback has no target_id");
  return {
    ...{ id: firstName(row["id"]) ?? `${target}-${firstName(row["metric_name"]) ?? ""}`, value, text: null },
    ...{
      target,
      group: "episode_id",
      author: firstName(row["metric_name"]) ?? "",
      createdAt: millisecondsIn(row, row["id"]),
    },
  };
}

function demonstrationOf(row: Json): ForeignFeedback {
  const id = firstName(row["inference_id"]);
  const text = (answerOf(parsed(row["value"]))?.text ?? "").toWellFormed();
  if (id === null || text === "") throw new RowProblem("the demonstration has no text, or no inference_id");
  return {
    ...{ id: firstName(row["id"]) ?? `${id}-demonstration`, target: id, group: null, value: null, text },
    ...{ author: "demonstration", createdAt: millisecondsIn(row, row["id"]) },
  };
}
