// LiteLLM: the standard logging payload, and rows of LiteLLM_SpendLogs, whose questions stand in
// proxy_server_request. Read against schema.prisma of 029f645f, spend_tracking_utils.py of
// 00907c60.
import { answerOf } from "../conversation.ts";
import { listOf } from "../../../algorithms/text/json-shape.ts";
import {
  amountOf,
  between,
  booleanOf,
  first,
  firstCount,
  firstName,
  isNone,
  membersOf,
  milliseconds,
  numberOf,
  objectOf,
  parsed,
  RowProblem,
} from "../foreign.ts";
import { usageOf } from "../usage.ts";
import { answered, asked, type Preset } from "./preset.ts";

const chats = /completion|responses|anthropic_messages|generate_content/;
const redacted = "redacted-by-litellm";
const truncated = "(litellm_truncated ";

export const litellm: Preset = (row) => {
  const status = row["status"];
  if (!isNone(status) && status !== "success") throw new RowProblem("its status is no success");
  const call = row["call_type"];
  if (typeof call === "string" && call !== "" && !chats.test(call)) throw new RowProblem("its call_type is no chat");

  const metadata = membersOf(row["metadata"]);
  const sent = membersOf(row["proxy_server_request"]);
  const body = { ...(objectOf(sent["body"]) ?? sent), ...membersOf(row["model_parameters"]) };
  const given = [parsed(row["messages"]), body].find((one) => listOf(one).length > 0 || conversationKeys(one));
  const turns = asked(given ?? row["messages"], "messages (or proxy_server_request)");
  const answer = answerOf(parsed(row["response"]));
  const texts = [...turns.map(({ content }) => content), answer?.text ?? ""];
  if (turns.some(({ content }) => content === redacted)) throw new RowProblem("its texts are redacted by LiteLLM");
  if (texts.some((text) => text.includes(truncated))) throw new RowProblem("its texts are cut off by LiteLLM");

  const usage = { ...membersOf(metadata["usage_object"]), ...membersOf(membersOf(parsed(row["response"]))["usage"]) };
  const [used, more] = [usageOf(usage), usageOf(membersOf(metadata["additional_usage_values"]))];
  const { startTime, completionStartTime, endTime } = row;
  // An answer from LiteLLM's own cache says nothing of the arm's times.
  const isHit = booleanOf(row["cache_hit"]) === true;
  const total =
    amountOf(row["request_duration_ms"]) ?? milliseconds(row["response_time"]) ?? between(startTime, endTime);
  return {
    columns: {
      ...{ id: first(row, "id", "request_id"), time: startTime, messages: turns, tools: body["tools"] ?? null },
      ...(answer?.text === redacted ? answered(null) : answered(answer)),
      ...{ arm: first(row, "model_group", "model"), model: row["model"] },
      cost: amountOf(first(row, "response_cost", "spend")),
      prompt_tokens: firstCount(row["prompt_tokens"], used.prompt),
      completion_tokens: firstCount(row["completion_tokens"], used.completion),
      cached_tokens: firstCount(used.cached, more.cached),
      total_ms: isHit ? null : total,
      first_token_ms: isHit ? null : between(startTime, completionStartTime),
      max_tokens: firstCount(body["max_completion_tokens"], body["max_tokens"], body["max_output_tokens"]),
      temperature: numberOf(body["temperature"]),
      tenant:
        firstName(metadata["user_api_key_team_alias"], metadata["user_api_key_team_id"], row["team_id"]) ?? "default",
      user: firstName(
        ...[
          row["end_user"],
          metadata["user_api_key_end_user_id"],
          body["user"],
          membersOf(body["metadata"])["user_id"],
        ],
        ...[row["user"], metadata["user_api_key_user_id"]],
      ),
    },
  };
};

const conversationKeys = (value: unknown): boolean =>
  ["messages", "input", "prompt", "contents"].some((name) => !isNone(objectOf(value)?.[name]));
