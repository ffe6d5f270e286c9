// Helicone: requests with their responses, as @helicone/export and its API write them, and rows of
// its ClickHouse table request_response_rmt. Read against packages/llm-mapper/types.ts of 301a87bc.
import { answerOf } from "../conversation.ts";
import {
  amountOf,
  booleanOf,
  first,
  firstMembers,
  firstCount,
  firstName,
  isNone,
  meanScore,
  membersOf,
  numberOf,
  objectOf,
  parsed,
  RowProblem,
  textsOf,
} from "../foreign.ts";
import { unstreamed } from "../stream.ts";
import { usageOf } from "../usage.ts";
import { answered, asked, type Preset } from "./preset.ts";

/** The table counts costs in billionths. */
const tableCost = 1e9;
const noReference = "00000000-0000-0000-0000-000000000000";

export const helicone: Preset = (row) => {
  const isTable = "organization_id" in row && "status" in row;
  const status = numberOf(first(row, "response_status", "status"));
  if (status !== null && (status < 200 || status > 299)) throw new RowProblem("its response_status is no success");

  const [body, path] = [membersOf(row["request_body"]), firstName(row["request_path"]) ?? ""];
  // Helicone logs calls of tools and vector stores, too.
  if (/embedding|image|audio|moderation/.test(path) || "_type" in body) throw new RowProblem("its request is no chat");
  const turns = asked(Object.keys(body).length === 0 ? row["request_body"] : body, "request_body");
  const response = unstreamed(parsed(row["response_body"]));
  const answer = answerOf(response);
  // The row counts cached tokens among those of the prompt or beside them; the body says which.
  const usage = usageOf(membersOf(objectOf(response)?.["usage"]));
  const properties = textsOf(firstMembers(row, "request_properties", "properties"));
  const cost = amountOf(first(row, "costUSD", "cost_usd", "cost"));
  const rating = booleanOf(row["feedback_rating"]);
  const scores = Object.values(membersOf(row["scores"])).map((score) => objectOf(score)?.["value"] ?? score);
  const reference = firstName(row["cache_reference_id"]);
  // An answer from Helicone's cache says nothing of the arm's times.
  const isHit = reference !== null && reference !== noReference;
  const model = firstName(
    row["response_model"],
    row["model"],
    row["request_model"],
    row["model_override"],
    body["model"],
  );
  return {
    columns: {
      id: first(row, "request_id", "response_id"),
      time: first(row, "request_created_at", "response_created_at"),
      ...{ messages: turns, tools: body["tools"] ?? null, ...answered(answer) },
      ...{ arm: firstName(row["model"], row["request_model"]) ?? model, model },
      cost: cost !== null && isTable ? cost / tableCost : cost,
      prompt_tokens: firstCount(usage.prompt, row["prompt_tokens"]),
      completion_tokens: firstCount(usage.completion, row["completion_tokens"]),
      cached_tokens: firstCount(usage.cached, row["prompt_cache_read_tokens"]),
      total_ms: isHit ? null : amountOf(first(row, "delay_ms", "latency")),
      first_token_ms: isHit ? null : amountOf(row["time_to_first_token"]),
      max_tokens: firstCount(body["max_completion_tokens"], body["max_tokens"], body["max_output_tokens"]),
      temperature: numberOf(body["temperature"]),
      reward: rating === null ? meanScore(scores) : Number(rating),
      user: firstName(
        ...[row["request_user_id"], row["helicone_user"], row["user_id"], body["user"]],
        membersOf(body["metadata"])["user_id"],
      ),
      metadata: isNone(properties) ? null : properties,
    },
  };
};
