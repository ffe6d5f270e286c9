// Thoughts in a stream of chunks: before the text, and whatever becomes of them, the answer comes.
import { describe, expect, it } from "vitest";
import type { ThoughtPiece } from "../schemas/types.ts";
import { createChunks } from "./api/chunks.ts";
import { aResponse } from "./responses.testing.ts";
import { createStreamParts } from "./stream-parts.ts";

const thought = (text: string, member = "reasoning_content"): ThoughtPiece => ({ member, text });
const delta = (index: number, thoughts: ThoughtPiece | null, text = "", attempt = 1) => ({
  ...{ attempt, index, text, thoughts, calls: [], blocks: [] },
});
const answered = (message: object, text = "so") => aResponse({ text, passthrough: JSON.stringify({ message }) });

describe("the thoughts of a stream", () => {
  it("go on with each piece, and end with what the pieces lack", () => {
    const parts = createStreamParts();
    parts.take(delta(0, thought("I ")));
    expect(parts.next()).toMatchObject({ thoughts: thought("I "), text: "" });
    parts.take(delta(1, thought("thi"), "s"));
    expect(parts.next()).toMatchObject({ thoughts: thought("thi"), text: "s" });
    expect(parts.rest(answered({ reasoning_content: "I think." }))).toMatchObject({
      thoughts: thought("nk."),
      text: "o",
    });
  });

  it("are whole at the end where no piece came", () => {
    const rest = createStreamParts().rest(answered({ reasoning: "hm" }));
    expect(rest).toMatchObject({ thoughts: thought("hm", "reasoning"), text: "so" });
    expect(createStreamParts().rest(answered({}))?.thoughts).toBeNull();
  });

  it("that another attempt thinks otherwise stop, and the text goes on", () => {
    const parts = createStreamParts();
    parts.take(delta(0, thought("one")));
    parts.next();
    parts.take(delta(0, thought("two"), "s", 2));
    expect(parts.next()).toMatchObject({ thoughts: null, text: "s" });
    expect(parts.rest(answered({ reasoning_content: "two" }))).toMatchObject({ thoughts: null, text: "o" });
  });
});

describe("chunks with thoughts", () => {
  const deltasOf = (text: string) =>
    [...text.matchAll(/^data: (\{.*\})$/gm)].flatMap(([, data = ""]) =>
      (JSON.parse(data) as { choices: { index: number; delta: object }[] }).choices.map((one) => [
        one.index,
        one.delta,
      ]),
    );

  it("say none of those that were sent again, but what other members say", () => {
    const chunks = createChunks({ requestId: "r", model: "m", created: 1, includeUsage: false });
    const response = answered({ reasoning: "hm", reasoning_details: [{ text: "hm" }] });
    const sent = (chunks.thoughts?.(thought("hm", "reasoning")) ?? "") + chunks.text("so") + chunks.end(response, []);
    expect(deltasOf(sent).slice(0, 3)).toEqual([
      [0, { reasoning: "hm" }],
      [0, { content: "so" }],
      [0, { reasoning_details: [{ text: "hm" }] }],
    ]);
  });

  it("have those of further answers before their text", () => {
    const others = () => [answered({ reasoning_content: "two" }, "b")];
    const chunks = createChunks({ requestId: "r", model: "m", created: 1, includeUsage: false, others });
    const second = deltasOf(chunks.end(answered({}), [])).filter(([index]) => index === 1);
    expect(second).toEqual([
      [1, { role: "assistant", reasoning_content: "two", content: "b" }],
      [1, {}],
    ]);
  });
});
