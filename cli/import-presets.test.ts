import { expect, it } from "vitest";
import { presets } from "./import-presets.ts";

const { litellm, langfuse } = presets as Record<"litellm" | "langfuse", (typeof presets)[string]>;

it("reads LiteLLM's standard logging payload", () => {
  const row = {
    ...{ id: "call-1", call_type: "acompletion", status: "success", startTime: 1_700_000_000.5, response_time: 1.25 },
    ...{ completionStartTime: 1_700_000_000.75, model: "openai/gpt-4o-mini", model_group: "large" },
    messages: [
      { role: "developer", content: "be short" },
      {
        role: "user",
        content: [{ type: "text", text: "list " }, { type: "image_url" }, { type: "text", text: "files" }],
      },
    ],
    response: { choices: [{ message: { role: "assistant", content: "ls" } }] },
    ...{ response_cost: 0.002, prompt_tokens: 12, completion_tokens: 1, model_parameters: { temperature: 0 } },
    metadata: { user_api_key_team_alias: "acme" },
  };
  expect(litellm(row)).toEqual({
    ...{ id: "call-1", time: 1_700_000_000.5, arm: "large", model: "openai/gpt-4o-mini", answer: "ls", tenant: "acme" },
    messages: [
      { role: "system", content: "be short" },
      { role: "user", content: "list files" },
    ],
    ...{ cost: 0.002, prompt_tokens: 12, completion_tokens: 1, total_ms: 1_250, first_token_ms: 250 },
    ...{ max_tokens: null, temperature: 0 },
  });
  expect(litellm({ ...row, status: "failure" })).toBeNull();
  expect(litellm({ ...row, call_type: "aembedding" })).toBeNull();
});

it("reads Langfuse's observations, with JSON in texts, and scores within [0, 1]", () => {
  const row = {
    ...{ id: "o1", type: "GENERATION", start_time: "2024-05-29 13:46:19.963000", provided_model_name: "gpt-4o" },
    input: '{"messages":[{"role":"user","content":"list files"}]}',
    output: '{"role":"assistant","content":"ls"}',
    ...{
      usage_details: '{"input":3,"output":1,"total":4}',
      total_cost: "0.5",
      latency: 2,
      scores: { good: [1], rank: [7], b: [0] },
    },
  };
  expect(langfuse(row)).toMatchObject({
    ...{ id: "o1", time: "2024-05-29 13:46:19.963000", arm: "gpt-4o", answer: "ls", reward: 0.5, cost: 0.5 },
    messages: [{ role: "user", content: "list files" }],
    ...{ prompt_tokens: 3, completion_tokens: 1, total_ms: 2_000 },
  });
  expect(langfuse({ ...row, type: "SPAN" })).toBeNull();
  expect(langfuse({ ...row, input: "plain", output: "text", scores: [{ name: "x", value: true }] })).toMatchObject({
    ...{ messages: [{ role: "user", content: "plain" }], answer: "text", reward: 1 },
  });
});
