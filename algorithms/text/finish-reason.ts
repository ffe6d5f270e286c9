// Why a model ended its answer, in OpenAI's words: the one table of what others write for them.

/** unknown: there is no reason, or it is a word that is not in the table. */
export type FinishReason = "stop" | "length" | "tool_calls" | "function_call" | "content_filter" | "unknown";

const synonyms: Readonly<Record<FinishReason | "error", string>> = {
  stop: `stop stopped stop_sequence stop_sequence_reached stop_token stop_string stop_str stop_criteria_met eos eos_token
    eos_token_id eot eod eog end end_turn end_of_turn end_of_text end_of_sequence endoftext complete completed completion
    done finish finished normal success`,
  length: `length max_length max_tokens max_token max_tokens_reached max_new_tokens max_output_tokens
    max_completion_tokens model_length token_limit token_limit_reached context_length context_length_exceeded
    model_context_window_exceeded context_window context_window_exceeded length_limit limit truncated`,
  tool_calls: "tool_calls tool_call tool_use tools tool function_calls tool_execution",
  function_call: "function_call",
  content_filter: `content_filter content_filtered content_policy content_policy_violation content_moderation filter
    filtered moderation safety recitation blocklist prohibited_content spii image_safety image_prohibited_content
    image_recitation model_armor language refusal sensitive guardrail_intervened guardrails error_toxic`,
  error: `error errored failed failure abort aborted cancel cancelled canceled timeout network_error server_error
    internal_error insufficient_system_resource engine_overloaded rate_limit overloaded exception invalid error_limit
    user_cancel timed_out deadline_exceeded unavailable preempted connection_error upstream_error disconnected oom malformed_function_call malformed_response malformed_model_output malformed_tool_use
    unexpected_tool_call missing_thought_signature`,
  unknown: "unknown",
};
const reasons = new Map(
  Object.entries(synonyms).flatMap(([reason, words]) =>
    words.split(/\s+/).map((word) => [word, reason as FinishReason | "error"] as const),
  ),
);

/** Words of answers that go on. */
const notYet: ReadonlySet<string> = new Set(
  ["", "null", "none", "unspecified", "in_progress", "incomplete", "continue", "continuing", "not_finished"].concat([
    "unfinished",
    "streaming",
    "generating",
    "running",
    "processing",
    "pending",
    "queued",
    "started",
    "ongoing",
  ]),
);

/**
 * Reads what an endpoint or a log says; null: no reason yet. Some write an object with a type.
 * error: the answer failed, whatever came of it. Case, hyphens, camel case and prefixes
 * (FINISH_REASON_STOP) do not matter. Gemini adds a detail: "content_filter: RECITATION".
 */
export function finishReasonOf(value: unknown): FinishReason | "error" | null {
  if (typeof value === "object" && value !== null && "type" in value && typeof value.type === "string")
    return finishReasonOf(value.type);
  if (typeof value !== "string") return null;
  const text = value.trim().slice(0, 80);
  const word = (/[a-z]/.test(text) ? text.replace(/(?<=[a-z])(?=[A-Z])/g, "_") : text)
    .replace(/[\s.-]+/g, "_")
    .toLowerCase()
    .replace(/^(finish|stop)_?reason_/, "");
  if (notYet.has(word)) return null;
  const [kind = "", detail = kind] = word.split(/_?:_?/);
  return reasons.get(detail) ?? reasons.get(kind) ?? "unknown";
}

/** A later reason counts only where its rank is higher: filters may step in after "stop". */
const rank = ["unknown", "stop", "function_call", "tool_calls", "length", "content_filter"];

/** Which of two reasons of one answer stands. */
export const laterReason = (before: FinishReason | null, next: FinishReason | null): FinishReason | null =>
  before === null || (next !== null && rank.indexOf(next) > rank.indexOf(before)) ? next : before;
