import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readPassthrough } from "./passthrough.ts";

const requires = (members: object) => readPassthrough(JSON.stringify(members));

const hinted = { type: "text", text: "long", cache_control: { type: "ephemeral", ttl: "1h" } };

describe("a passthrough", () => {
  it.each<[string, object, string[]]>([
    ["tools", { tools: [{}], tool_choice: "auto" }, ["tools"]],
    ["a format and log probabilities", { response_format: { type: "json_object" }, logprobs: true }, ["parameters"]],
    ["unknown members", { reasoning_effort: "low", tools: [] }, ["tools", "parameters"]],
    ["a tool's result", { messages: [{ role: "tool", tool_call_id: "1", content: "x" }] }, ["tools"]],
    ["an image", { messages: [{ role: "user", content: [{ type: "image_url", image_url: {} }] }] }, ["vision"]],
    ["a name", { messages: [{ role: "user", name: "ann", content: "hi" }] }, ["parameters"]],
    [
      "a text whose other members are empty",
      { messages: [{ role: "user", content: [{ ...hinted, cache_control: null, more: [] }] }] },
      ["parameters"],
    ],
    ["a cheaper tier", { service_tier: "flex" }, ["parameters"]],
    ["plain messages, and nothing", { messages: [{ role: "user", content: "hi" }] }, ["parameters"]],
    ["nothing", {}, ["parameters"]],
    ["a hint alone", { messages: [{ role: "user", content: [hinted] }] }, ["parameters"]],
    ["a hint beside tools", { tools: [{}], messages: [{ role: "user", content: [hinted] }] }, ["tools"]],
  ])("of %s requires what an arm must declare for it", (_what, members, expected) => {
    expect(requires(members)).toEqual({ members, requires: expected });
  });

  it.each<[string, unknown]>([
    ["no JSON", "{"],
    ["no JSON object", "[1]"],
    ["model", '{"model":"x"}'],
    ["n", '{"n":2}'],
    ["messages[0].role", '{"messages":[{"role":"stranger"}]}'],
    ["messages[0].content[0]", '{"messages":[{"role":"user","content":[{"type":"input_audio"}]}]}'],
    [
      "messages[0].content[0]",
      JSON.stringify({ messages: [{ role: "user", content: [{ ...hinted, cache_control: 1 }] }] }),
    ],
    ["messages[0].content[0]", JSON.stringify({ messages: [{ role: "user", content: [{ ...hinted, more: 1 }] }] })],
    ["prompt_cache_key", '{"prompt_cache_key":"x"}'],
    ["service_tier", '{"service_tier":"priority"}'],
    ["service_tier", '{"service_tier":["flex"]}'],
    ["kv_transfer_params", '{"kv_transfer_params":{}}'],
    ["anthropic.fallbacks", '{"anthropic":{"messages":[],"fallbacks":[]}}'],
    ["anthropic.kv_transfer_params", '{"anthropic":{"messages":[],"kv_transfer_params":{}}}'],
    ["cache_salt", '{"cache_salt":"x"}'],
    ["messages is no array", '{"messages":"x"}'],
  ])("is refused for %s", (problem, json) => {
    expect(readPassthrough(json as string)).toEqual({ problem: expect.stringContaining(problem) as string });
  });

  it("is read or refused, for any JSON", () => {
    const value = fc.oneof(
      fc.jsonValue(),
      fc.record({ messages: fc.array(fc.dictionary(fc.string(), fc.jsonValue())) }),
    );
    fc.assert(
      fc.property(value, (json) => {
        const read = readPassthrough(JSON.stringify(json));
        expect("problem" in read || read.requires.length > 0).toBe(true);
      }),
    );
  });
});
