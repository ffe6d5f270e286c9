import { describe, expect, it } from "vitest";
import { refusedImage, refusedMember, refusedNatively } from "./refused-members.ts";

const refusedIn = (body: object) =>
  Object.entries(body)
    .map(([name, value]) => refusedMember(name, value))
    .find((one) => one !== null) ?? null;

describe("a member that may harm other tenants or cost what no price has", () => {
  it.each<[string, object, string, RegExp]>([
    ["vLLM's priority", { priority: -5 }, "priority", /before other tenants/],
    ["Dynamo's hints", { nvext: { agent_hints: { priority: 9 } } }, "nvext", /before other tenants/],
    ["llama-server's slot", { id_slot: 0 }, "id_slot", /slot or worker/],
    ["SGLang's worker", { routed_dp_rank: 1 }, "routed_dp_rank", /slot or worker/],
    ["an encoder's cache", { ec_transfer_params: {} }, "ec_transfer_params", /KV cache/],
    ["TensorRT-LLM's other half", { disaggregated_params: {} }, "disaggregated_params", /KV cache/],
    ["SGLang's session", { session_params: { id: "s" } }, "session_params", /another tenant's/],
    ["SGLang's cache by name", { extra_key: "acme" }, "extra_key", /another tenant's/],
    ["Anthropic's threads", { thread: { type: "create" } }, "thread", /another tenant's/],
    ["vLLM's request id", { request_id: "r" }, "request_id", /another tenant's/],
    ["an adapter's path", { lora_request: { lora_path: "/etc" } }, "lora_request", /adapter/],
    ["llama-server's adapters", { lora: [{ id: 0, scale: 1 }] }, "lora", /adapter/],
    ["Ollama's time in memory", { keep_alive: 0 }, "keep_alive", /loads it anew/],
    ["Ollama's context", { options: { temperature: 1, num_ctx: 1 } }, "options.num_ctx", /loads it anew/],
    ["code for SGLang", { custom_logit_processor: "80049" }, "custom_logit_processor", /run it/],
    ["a template", { chat_template: "{{ 1 }}" }, "chat_template", /run it/],
    [
      "a hidden template",
      { chat_template_kwargs: { chat_template: "x" } },
      "chat_template_kwargs.chat_template",
      /run/,
    ],
    ["tokens for messages", { input_ids: [1] }, "input_ids", /replace the messages/],
    ["hidden states", { return_hidden_states: true }, "return_hidden_states", /tensors/],
    ["another address", { api_base: "http://evil" }, "api_base", /elsewhere/],
    ["others in its place", { fallbacks: ["gpt-5-pro"] }, "fallbacks", /elsewhere/],
    ["searches of OpenAI", { web_search_options: {} }, "web_search_options", /prices/],
    ["plugins", { plugins: [{ id: "web" }] }, "plugins", /prices/],
    [
      "Gemini's cache",
      { extra_body: { google: { cached_content: "c" } } },
      "extra_body.google.cached_content",
      /tenant/,
    ],
    ["a transfer among vLLM's own", { vllm_xargs: { kv_transfer_params: "x" } }, "vllm_xargs.kv_transfer_params", /KV/],
    ["a longest answer", { n_predict: -1 }, "n_predict", /no bound/],
    ["all log probabilities", { logprobs: true, top_logprobs: 150_000 }, "top_logprobs", /more than 20/],
    ["those of llama-server", { n_probs: 21 }, "n_probs", /more than 20/],
    ["all of vLLM's vocabulary", { prompt_logprobs: -1 }, "prompt_logprobs", /more than 20/],
    ["a tool of the provider", { tools: [{ type: "function" }, { type: "web_search" }] }, "tools[1]", /prices/],
    ["Gemini's search", { tools: [{ googleSearch: {} }] }, "tools[0]", /prices/],
    ["containers without end", nested(5), `${"extra_body.".repeat(4)}extra_body`, /nested/],
  ])("is refused: %s", (_what, body, path, why) => {
    expect(refusedIn(body)).toEqual({ path, why: expect.stringMatching(why) as string });
  });

  it.each<[string, object]>([
    ["sampling", { top_k: 5, min_p: 1e-7, seed: 1, repetition_penalty: 1.1, stop_token_ids: [2], min_tokens: 3 }],
    ["thinking switched off", { chat_template_kwargs: { enable_thinking: false } }],
    ["arguments of a logits processor", { vllm_xargs: { ngram_size: 30, window_size: 90 } }],
    ["a few log probabilities", { logprobs: true, top_logprobs: 20, prompt_logprobs: 0 }],
    [
      "schemas, whatever their properties are called",
      { tools: [tool({ priority: {}, lora: {} })], cache_prompt: false },
    ],
    ["free tools of OpenAI", { tools: [{ type: "custom", custom: { name: "c" } }, {}] }],
    ["members that say nothing", { priority: null, lora: undefined }],
    ["grammars and formats", { response_format: { type: "json_object" }, grammar: "root ::= x", guided_json: {} }],
    ["LiteLLM's marks", { litellm_metadata: { a: 1 }, tags: ["a"] }],
  ])("is not: %s", (_what, body) => {
    expect(refusedIn(body)).toBeNull();
  });
});

describe("an image", () => {
  it.each<[object, string | null]>([
    [{ image_url: { url: "https://a.example/x.png", detail: "low" } }, null],
    [{ image_url: "data:image/png;base64,AA==" }, null],
    [{ image_url: {} }, null],
    [{ image_url: { url: "file:///etc/passwd" } }, "image_url"],
    [{ image_url: "/etc/passwd" }, "image_url"],
    [{ image_url: { url: "FILE:///x" } }, "image_url"],
    [{ image_url: null, uuid: "another's" }, "uuid"],
  ])("is of the web or in the request, under no name: %j", (part, path) => {
    expect(refusedImage({ type: "image_url", ...part })?.path ?? null).toBe(path);
  });
});

describe("a body of Anthropic's format", () => {
  const said = (content: unknown) => ({ messages: [{ role: "user", content }] });
  const image = (url: string) => ({ type: "image", source: { type: "url", url } });

  it.each<[string, object, string | null]>([
    ["with its own tools", { ...said("x"), tools: [{ type: "web_search_20260209", name: "web_search" }] }, null],
    [
      "with an advisor",
      { ...said("x"), tools: [{ type: "advisor_20260301", name: "advisor", model: "m" }] },
      "tools[0]",
    ],
    ["with a priority", { ...said("x"), priority: 1 }, "priority"],
    ["with an image of the web", said([image("https://a.example/x.png")]), null],
    ["with a file", said([{ type: "text", text: "x" }, image("file:///x")]), "messages[0].content[1].source.url"],
    [
      "with a file in a result",
      said([{ type: "tool_result", tool_use_id: "t", content: [image("/x")] }]),
      "messages[0].content[0].source.url",
    ],
    ["whose messages are none", { messages: "x" }, null],
  ])("%s", (_what, body, path) => {
    expect(refusedNatively(body as Record<string, unknown>)?.path ?? null).toBe(path);
  });
});

function nested(depth: number): object {
  return depth === 0 ? {} : { extra_body: nested(depth - 1) };
}

function tool(properties: object): object {
  return { type: "function", function: { name: "f", parameters: { type: "object", properties } } };
}
