import { describe, expect, it } from "vitest";
import { aResponse } from "../responses.testing.ts";
import { ApiError } from "../errors.ts";
import { createResponseEvents } from "./response-events.ts";
import { finishedResponse, responsesRequest } from "./responses.ts";

const of = { requestId: "r1", model: "auto", created: 7, instructions: null };

describe("the body of /v1/responses", () => {
  it("becomes the request that a chat completion of the same would be", () => {
    const { request, model, stream, instructions } = responsesRequest({
      ...{ model: "small", instructions: "Be brief.", max_output_tokens: 7, temperature: 0.5, stream: true },
      input: [
        { role: "user", content: [{ type: "input_text", text: "one" }] },
        { type: "message", role: "assistant", content: [{ type: "output_text", text: "said", annotations: [] }] },
        { role: "user", content: "two" },
      ],
      ...{ store: false, truncation: "disabled", text: { format: { type: "text" } }, tools: [], include: null },
      precedent: { domain: "shell" },
    });
    expect({ model, stream, instructions }).toEqual({ model: "small", stream: true, instructions: "Be brief." });
    expect(request).toMatchObject({
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "one" },
        { role: "assistant", content: "said" },
        { role: "user", content: "two" },
      ],
      params: { maxTokens: 7, temperature: 0.5 },
      domain: "shell",
      passthrough: null,
    });
    expect(responsesRequest({ model: "m", input: "hi" }).request.messages).toEqual([{ role: "user", content: "hi" }]);
  });

  it.each<[string, object]>([
    ["previous_response_id", { previous_response_id: "resp_1" }],
    ["tools", { tools: [{ type: "web_search" }] }],
    ["store", { store: true }],
    ["text", { text: { format: { type: "json_object" } } }],
    ["max_tokens", { max_tokens: 5 }],
    ["input[0].content[0]", { input: [{ role: "user", content: [{ type: "input_image", image_url: "x" }] }] }],
    ["temperature", { temperature: 9 }],
  ])("is refused for %s by name", (param, change) => {
    const refused = () => responsesRequest({ model: "auto", input: "hi", ...change });
    expect(refused).toThrow(ApiError);
    expect(refused).toThrow(expect.objectContaining({ status: 400, param }));
  });
});

describe("a response", () => {
  it("has text, usage and what OpenAI's client reads of it", () => {
    expect(finishedResponse(aResponse(), of)).toMatchObject({
      ...{ id: "resp_r1", object: "response", status: "completed", created_at: 7, model: "auto" },
      output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "ls -a" }] }],
      usage: { input_tokens: 30, output_tokens: 5, total_tokens: 35, input_tokens_details: { cached_tokens: 10 } },
    });
    expect(finishedResponse(aResponse({ finishReason: "length" }), of)).toMatchObject({
      ...{ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
    });
  });

  it("is streamed in numbered events whose deltas are its text", () => {
    const events = createResponseEvents(of);
    const text = events.begin() + events.text("ls ") + events.text("-a") + events.end(aResponse(), []);
    const read = [...text.matchAll(/^event: (.*)\ndata: (.*)\n\n/gm)].map(([, name, data = ""]) => ({
      name,
      ...(JSON.parse(data) as { type: string; sequence_number: number; delta?: string }),
    }));
    expect(read.map(({ sequence_number }) => sequence_number)).toEqual(read.map((_, i) => i));
    expect(read.every(({ name, type }) => name === type)).toBe(true);
    expect(read.flatMap(({ delta }) => delta ?? []).join("")).toBe("ls -a");
    expect(read.at(-1)?.type).toBe("response.completed");
  });
});
