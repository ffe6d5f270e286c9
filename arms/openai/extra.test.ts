import { describe, expect, it } from "vitest";
import { createExtra } from "./extra.ts";

const read = (pieces: object[], logprobs: (object | null)[] = []) => {
  const extra = createExtra();
  for (const [i, piece] of pieces.entries())
    extra.add(piece as Record<string, unknown>, (logprobs[i] ?? null) as Record<string, unknown> | null);
  return JSON.parse(extra.json([]) ?? "null") as unknown;
};

describe("what a message has besides its text", () => {
  it("is nothing for text alone", () => {
    expect(read([{ role: "assistant", content: "hi", refusal: null, tool_calls: [], annotations: [] }])).toBeNull();
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
