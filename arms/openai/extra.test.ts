import { describe, expect, it } from "vitest";
import { createExtra } from "./extra.ts";

const read = (pieces: object[], logprobs: (object | null)[] = []) => {
  const extra = createExtra();
  for (const [i, piece] of pieces.entries())
    extra.add(piece as Record<string, unknown>, (logprobs[i] ?? null) as Record<string, unknown> | null);
  return JSON.parse(extra.json() ?? "null") as unknown;
};

describe("what a message has besides its text", () => {
  it("is nothing for text alone", () => {
    expect(read([{ role: "assistant", content: "hi", refusal: null, tool_calls: [], annotations: [] }])).toBeNull();
  });
  it("is kept whole where it comes whole", () => {
    const tool_calls = [{ id: "c1", type: "function", function: { name: "f", arguments: "{}" } }];
    expect(read([{ content: null, tool_calls }])).toEqual({ message: { tool_calls } });
  });
  it("is put together from the pieces of a stream, calls by their index", () => {
    const call = (index: number, args: string, more: object = {}) => ({
      tool_calls: [{ index, ...more, function: { arguments: args, ...("id" in more ? { name: `f${index}` } : {}) } }],
    });
    const pieces = [
      call(1, '{"b"', { id: "c1", type: "function" }),
      call(0, "{", { id: "c0", type: "function" }),
      call(0, "}"),
      call(1, ":1}", { id: "c1" }),
    ];
    expect(read(pieces)).toEqual({
      message: {
        tool_calls: [
          { id: "c0", type: "function", function: { arguments: "{}", name: "f0" } },
          { id: "c1", type: "function", function: { arguments: '{"b":1}', name: "f1" } },
        ],
      },
    });
  });
  it("has the log probabilities of all pieces", () => {
    expect(read([{}, {}], [{ content: [{ token: "a" }] }, { content: [{ token: "b" }], refusal: null }])).toEqual({
      logprobs: { content: [{ token: "a" }, { token: "b" }], refusal: null },
    });
  });
  it("reaches no prototype", () => {
    const hostile = JSON.parse('{"x":{"__proto__":{"polluted":1}}}') as object;
    read([{ x: { a: 1 } }, hostile, hostile]);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});
