import { describe, expect, it } from "vitest";
import type { Piece } from "../schemas/types.ts";
import { chatMessages, lastUserTurn } from "./messages.ts";

const piece = (kind: Piece["kind"], role: Piece["role"], text: string, id: string | null = null): Piece => ({
  kind,
  id,
  role,
  text,
});

describe("chatMessages", () => {
  it("keeps examples as user and assistant turns, in order", () => {
    const messages = chatMessages([
      piece("system", "system", "Answer with a command."),
      piece("example", "user", "list files", "e1"),
      piece("example", "assistant", "ls", "e1"),
      piece("turn", "user", "show hidden files"),
    ]);
    expect(messages).toEqual([
      { role: "system", content: "Answer with a command." },
      { role: "user", content: "list files" },
      { role: "assistant", content: "ls" },
      { role: "user", content: "show hidden files" },
    ]);
  });

  it("joins system texts, and documents with the turn that follows, but never two turns", () => {
    expect(
      chatMessages([
        piece("system", "system", "a"),
        piece("system", "system", "b"),
        piece("document", "user", "c", "d1"),
        piece("turn", "user", "d"),
        piece("turn", "user", "e"),
      ]).map((message) => message.content),
    ).toEqual(["a\n\nb", "c\n\nd", "e"]);
  });
});

describe("lastUserTurn", () => {
  it("ignores examples and answers", () => {
    expect(
      lastUserTurn([
        piece("turn", "user", "asked"),
        piece("example", "user", "not me"),
        piece("turn", "assistant", "x"),
      ]),
    ).toBe("asked");
    expect(lastUserTurn([piece("example", "user", "not me")])).toBeUndefined();
  });
});
