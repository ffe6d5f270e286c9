// What Codex and other agents send to /v1/responses, and read of it, that other clients do not.
import { expect, it } from "vitest";
import type { Capability } from "../../../algorithms/routing/passthrough.ts";
import { ApiError } from "../../errors.ts";
import { aResponse } from "../../responses.testing.ts";
import { finishedResponse } from "./answer.ts";
import { createResponseEvents } from "./events.ts";
import { responsesRequest } from "./request.ts";

const all = new Set<Capability>(["tools", "vision", "parameters"]);
const of = { requestId: "r1", model: "auto", created: 7, echo: {} };
const tools = [
  { type: "function", name: "shell" },
  {
    ...{ type: "namespace", name: "team", description: "Agents." },
    tools: [{ type: "function", name: "spawn", parameters: { maximum: 5 } }],
  },
  { type: "namespace", name: "mcp__docs__", tools: [{ type: "custom", name: "find" }] },
];
const chatOf = (body: object) =>
  JSON.parse(responsesRequest({ model: "m", input: "q", ...body }, all).request.passthrough ?? "") as object;
const eventsOf = (text: string) =>
  [...text.matchAll(/^data: (.*)\n\n/gm)].map(
    ([, data = ""]) => JSON.parse(data) as { type: string; item?: object; response?: { output: object[] } },
  );

it("gives functions in namespaces names of their own, in tools and in earlier calls", () => {
  const call = { type: "function_call", call_id: "c", namespace: "team", name: "spawn", arguments: "{}" };
  const result = { type: "function_call_output", call_id: "c", output: "r" };
  expect(chatOf({ tools, input: [{ role: "user", content: "q" }, call, result] })).toMatchObject({
    tools: [
      { type: "function", function: { name: "shell" } },
      { type: "function", function: { name: "team__spawn", parameters: { maximum: 5 } } },
      { type: "custom", custom: { name: "mcp__docs__find" } },
    ],
    messages: [{ role: "user" }, { tool_calls: [{ id: "c", function: { name: "team__spawn" } }] }, { role: "tool" }],
  });
});

it("answers with a call's namespace and the name in it, streamed or not", () => {
  const { namespaces } = responsesRequest({ model: "m", input: "q", tools }, all);
  const named = (index: number, name: string) => ({
    ...{ id: `c${index}`, type: "function" },
    function: { name, arguments: "{}" },
  });
  const calls = [named(0, "team__spawn"), named(1, "shell")];
  const response = aResponse({
    ...{ text: "", finishReason: "tool_calls" },
    passthrough: JSON.stringify({ message: { tool_calls: calls } }),
  });
  const { output } = finishedResponse(response, { ...of, namespaces });
  expect(output).toMatchObject([
    { type: "function_call", namespace: "team", name: "spawn" },
    { type: "function_call", name: "shell" },
  ]);
  expect(output[1]).not.toHaveProperty("namespace");
  const chunks = createResponseEvents({ ...of, namespaces });
  const read = eventsOf(
    chunks.begin() +
      chunks.end(
        response,
        calls.map((one, index) => ({ index, ...one })),
      ),
  );
  const added = read.find(({ type }) => type === "response.output_item.added");
  expect(added?.item).toMatchObject({ namespace: "team", name: "spawn" });
  expect(read.find(({ type }) => type === "response.function_call_arguments.done")).toMatchObject({ name: "spawn" });
  expect(read.at(-1)?.response?.output).toEqual(output);
});

it.each([
  ["tools[0]", [{ type: "web_search" }], /web_search/],
  ["tools[0]", [{ type: "namespace", tools: [] }], /namespace/],
  ["tools[0].tools[0]", [{ type: "namespace", name: "a", tools: [{ type: "web_search", name: "s" }] }], /web_search/],
  ["tools[0].tools[0]", [{ type: "namespace", name: "a", tools: [7] }], /name/],
  [
    "tools[1].tools[0]",
    ["a", "a__"].map((name) => ({ type: "namespace", name, tools: [{ type: "function", name: "f" }] })),
    /name/,
  ],
])("refuses %s of other tools, and says which they are", (param, given, message) => {
  const refused = () => chatOf({ tools: given });
  expect(refused).toThrow(ApiError);
  expect(refused).toThrow(expect.objectContaining({ status: 400, param }));
  expect(refused).toThrow(message);
});

it("says what to send in place of an item's id", () => {
  const input = [
    { role: "user", content: "q" },
    { type: "item_reference", id: "msg_r1" },
  ];
  expect(() => chatOf({ input })).toThrow(/^input\[1\] refers.*store: false/);
});

it("says developer texts as one system text, as engines' templates know it, with calls as without", () => {
  const input = [
    { role: "developer", content: "You code." },
    { role: "developer", content: [{ type: "input_text", text: "You may read." }] },
    { role: "user", content: "q" },
  ];
  const messages = [
    { role: "system", content: "You code.\n\nYou may read." },
    { role: "user", content: "q" },
  ];
  expect(responsesRequest({ model: "m", input }).request.messages).toEqual(messages);
  const call = { type: "function_call", call_id: "c", name: "shell", arguments: "{}" };
  const calls = [call, { type: "function_call_output", call_id: "c", output: "r" }];
  expect(chatOf({ input: [...input, ...calls] })).toMatchObject({ messages: [...messages, {}, {}] });
});

it("ends a stream that fails with the error and with the failed response", () => {
  const chunks = createResponseEvents(of);
  const failed = new ApiError({ status: 502, code: "endpoint_unavailable", message: "It broke." });
  const read = eventsOf(chunks.begin() + chunks.text("a") + chunks.error(failed)).slice(-2);
  const error = { code: "endpoint_unavailable", message: "It broke." };
  expect(read).toMatchObject([
    { type: "error", ...error },
    { type: "response.failed", response: { id: "resp_r1", status: "failed", error } },
  ]);
});
