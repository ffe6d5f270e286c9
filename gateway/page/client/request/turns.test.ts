import { describe, expect, it } from "vitest";
import type { Conversation } from "../../../conversation.ts";
import { callsIn, turnsOf } from "./turns.tsx";

const asked = (messages: unknown, text = "what?"): Conversation["request"] =>
  ({
    messages: [{ role: "user", content: text }],
    passthrough: messages === undefined ? "" : JSON.stringify({ messages }),
  }) as Conversation["request"];

describe("turns of a request", () => {
  it("are its texts where it had nothing else", () => {
    expect(turnsOf(asked(undefined))).toEqual([{ who: "User", parts: [{ text: "what?" }], calls: [] }]);
  });
  it("have calls, results and images as they were sent", () => {
    const image = "data:image/png;base64,AAAA";
    const call = { id: "c1", type: "function", function: { name: "look", arguments: '{"city":"Paris"}' } };
    const turns = turnsOf(
      asked([
        {
          role: "user",
          content: [
            { type: "text", text: "see" },
            { type: "image_url", image_url: { url: image } },
          ],
        },
        { role: "assistant", content: null, tool_calls: [call] },
        { role: "tool", tool_call_id: "c1", content: "18 degrees" },
      ]),
    );
    expect(turns.map(({ who }) => who)).toEqual(["User", "Assistant", "Tool result (c1)"]);
    expect(turns[0]?.parts).toEqual([{ text: "see" }, { image }]);
    expect(turns[1]).toMatchObject({ parts: [], calls: [{ name: "look", arguments: '{\n  "city": "Paris"\n}' }] });
  });
  it.each([
    "https://evil.example/pixel.png",
    "javascript:alert(1)",
    "data:text/html;base64,AAAA",
    "data:image/svg+xml;base64,AAAA",
    'data:image/png;base64,AA" onerror="x',
  ])("load no image from %s", (url) => {
    const [turn] = turnsOf(asked([{ role: "user", content: [{ type: "image_url", image_url: { url } }] }]));
    expect(turn?.parts[0]).not.toHaveProperty("image");
    expect(JSON.stringify(turn)).toContain(url.slice(0, 10));
  });
  it.each([[1, "a", null, [1]], [{ role: 7, content: { odd: true } }], [{}], []].map((one) => [one]))(
    "are shown whatever they are: %j",
    (messages) => expect(turnsOf(asked(messages))).toHaveLength((messages as unknown[]).length),
  );
});

describe("turns of Anthropic's API", () => {
  const native = (body: unknown): Conversation["request"] => ({
    ...asked(undefined, "[document]"),
    passthrough: JSON.stringify({ anthropic: body }),
  });
  it("have their own blocks, not the texts that stand in for them", () => {
    const blocks = [
      { type: "thinking", thinking: "hm" },
      { type: "tool_use", id: "t1", name: "look", input: { city: "Paris" } },
    ];
    const source = { type: "base64", media_type: "image/png", data: "AAAA" };
    const turns = turnsOf(
      native({
        system: [{ type: "text", text: "be brief" }],
        messages: [
          {
            role: "user",
            content: [
              { type: "image", source },
              { type: "document", title: "a.pdf" },
            ],
          },
          { role: "assistant", content: blocks },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "18 degrees" }] },
        ],
      }),
    );
    expect(turns.map(({ who }) => who)).toEqual(["System", "User", "Assistant", "User"]);
    expect(turns[1]?.parts[0]).toEqual({ image: "data:image/png;base64,AAAA" });
    expect(JSON.stringify(turns[1]?.parts[1])).toContain("a.pdf");
    expect(turns[2]).toMatchObject({ parts: [{ other: "Thought: hm" }], calls: [{ id: "t1", name: "look" }] });
    expect(turns[3]?.parts).toEqual([{ other: "Result (t1): 18 degrees" }]);
  });
  it("load no image from elsewhere", () => {
    for (const source of [
      { type: "url", url: "https://evil.example/a.png" },
      { media_type: "text/html", data: "AAAA" },
      5,
    ])
      expect(
        turnsOf(native({ messages: [{ role: "user", content: [{ type: "image", source }] }] }))[0]?.parts[0],
      ).toHaveProperty("other");
  });
  it.each([5, "a", null, [], { messages: 5 }, { system: {} }])("fall back on the texts where %j is no body", (body) => {
    expect(turnsOf(native(body)).at(-1)?.parts).toEqual([{ text: "[document]" }]);
  });
});

it("calls of an answer are shown even where their arguments are no JSON", () => {
  const answer = { message: { tool_calls: [{ function: { name: "f", arguments: "{oops" } }, 5] } };
  expect(callsIn(JSON.stringify(answer))).toMatchObject([{ name: "f", arguments: "{oops" }, { name: "a tool" }]);
  expect(callsIn("")).toEqual([]);
});
