import { describe, expect, it } from "vitest";
import { finishReasonOf, laterReason } from "./finish-reason.ts";

describe("a finish reason", () => {
  it.each([
    ["stop", ["stop", "STOP", "Stop", "eos", "eos_token", "EOS-Token", "end_turn", "stop_sequence", "COMPLETE"]],
    ["stop", ["FINISH_REASON_STOP", "FinishReason.STOP", "stopSequence", " end turn ", { type: "stop", matched: 2 }]],
    ["length", ["length", "max_tokens", "MAX_TOKENS", "maxTokens", "model_length", "max_output_tokens", "Length"]],
    ["tool_calls", ["tool_calls", "TOOL_CALL", "tool_use", "toolCalls", "tool-calls"]],
    ["function_call", ["function_call", "FunctionCall"]],
    ["content_filter", ["content_filter", "SAFETY", "content-filter", "RECITATION", "refusal", "sensitive"]],
    ["error", ["error", "ERROR", "network_error", "abort", "insufficient_system_resource", "MALFORMED_FUNCTION_CALL"]],
    ["error", ["timed_out", "DEADLINE_EXCEEDED", "preempted", "upstream-error", "oom"]],
    ["content_filter", ["content_filter: RECITATION", "content_filter: PROHIBITED_CONTENT", "content_filter: OTHER"]],
    ["error", ["function_call_filter: MALFORMED_FUNCTION_CALL", "function_call_filter: UNEXPECTED_TOOL_CALL"]],
    ["unknown", ["unknown", "OTHER", "function_call_filter: OTHER", "pause_turn", "stopping", "x".repeat(1_000)]],
    [null, [undefined, null, "", " ", "null", "None", false, "FINISH_REASON_UNSPECIFIED"]],
    [null, [0, 3, {}, { type: 5 }, [], true, "in_progress", "incomplete", "continue", "not_finished", "STREAMING"]],
  ] as const)("is %s for %j", (reason, words) => {
    expect(words.map(finishReasonOf)).toEqual(words.map(() => reason));
  });

  it("stands unless a graver one follows", () => {
    expect(laterReason("stop", null)).toBe("stop");
    expect(laterReason(null, "unknown")).toBe("unknown");
    expect(laterReason("unknown", "stop")).toBe("stop");
    expect(laterReason("stop", "content_filter")).toBe("content_filter");
    expect(laterReason("length", "stop")).toBe("length");
  });
});
