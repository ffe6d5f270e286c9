import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chatMessages, lastUserTurn } from "./messages.ts";
import type { Message, Piece } from "../schemas/types.ts";
import { templates, type Conversation } from "./templates.ts";

const user = (content: string): Message => ({ role: "user", content });
const example = (id: string, request = `question ${id}`, response = `answer ${id}`) => ({ id, request, response });
const conversation = (messages: Message[], examples: Conversation["examples"] = [], system = "the arm's") => ({
  messages,
  examples,
  system,
});
const brief = (pieces: readonly Piece[]) => pieces.map(({ kind, role, text }) => [kind, role, text]);

describe("chat-turns", () => {
  it("prefers the request's own system prompt, and keeps later system turns in their place", () => {
    const messages: Message[] = [
      { role: "system", content: "be brief" },
      user("hi"),
      { role: "system", content: "now be long" },
      user("why?"),
    ];
    expect(brief(templates["chat-turns"].pieces(conversation(messages)))).toEqual([
      ["system", "system", "be brief"],
      ["turn", "user", "hi"],
      ["turn", "system", "now be long"],
      ["turn", "user", "why?"],
    ]);
  });

  it("an example's text is its own turn, whatever it says", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (request, response) => {
        const pieces = templates["chat-turns"].pieces(conversation([user("now")], [example("e", request, response)]));
        expect(chatMessages(pieces)).toEqual([
          { role: "system", content: "the arm's" },
          { role: "user", content: request },
          { role: "assistant", content: response },
          { role: "user", content: "now" },
        ]);
      }),
    );
  });

  it("an example's pieces are the same whatever is asked, so that they can be linked", () => {
    expect(templates["chat-turns"].linkable).toBe(true);
    const [first, second] = ["one", "two"].map((text) =>
      templates["chat-turns"]
        .pieces(conversation([user(text)], [example("e")]))
        .filter(({ kind }) => kind === "example"),
    );
    expect(first).toEqual(second);
  });
});

describe("guided", () => {
  const { pieces } = templates.guided;

  it("puts the question before and after the examples, in one user turn after the conversation so far", () => {
    const messages: Message[] = [user("hi"), { role: "assistant", content: "hello" }, user("list files")];
    const prompt = chatMessages(pieces(conversation(messages, [example("worse"), example("best")])));
    expect(prompt.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
    const text = prompt.at(-1)?.content ?? "";
    const order = ["list files", "you may ignore them", "list files"];
    expect(text.split("list files")).toHaveLength(3);
    expect(text.startsWith(`Below is an instruction that describes a task:\n${order[0]}`)).toBe(true);
    expect(text.indexOf("answer worse")).toBeLessThan(text.indexOf("answer best"));
    expect(text.indexOf("answer best")).toBeLessThan(text.indexOf("you may ignore them"));
    expect(text.endsWith("\n\nlist files")).toBe(true);
  });

  it("keeps the question alone in its piece, and the ids of the examples in theirs", () => {
    const given = pieces(conversation([user("list files")], [example("e")]));
    expect(lastUserTurn(given)).toBe("list files");
    expect(given.filter(({ kind }) => kind === "example").map(({ id }) => id)).toEqual(["e"]);
    expect(templates.guided.linkable).toBe(false);
  });

  it("is the plain conversation where there is nothing to show", () => {
    const plain = conversation([user("hi")]);
    expect(pieces(plain)).toEqual(templates["chat-turns"].pieces(plain));
    const nobodyAsks = conversation([{ role: "assistant", content: "hello" }], [example("e")]);
    expect(pieces(nobodyAsks)).toEqual(templates["chat-turns"].pieces(nobodyAsks));
  });

  it("no line of an example can pass for a heading", () => {
    const hostile = fc
      .array(fc.constantFrom("\n", "\r", "\r\n", "\u2028", "\u0085", "Instruction:", "Below is", "Example 2", " ", "x"))
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(hostile, hostile, (request, response) => {
        const [piece] = pieces(conversation([user("q")], [example("e", request, response)])).filter(
          ({ kind }) => kind === "example",
        );
        const lines = (piece?.text ?? "").split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/);
        const headings = lines.filter((line) => !line.startsWith("    "));
        expect(headings).toEqual(["Example 1", "Instruction:", "Response:"]);
      }),
    );
  });
});
