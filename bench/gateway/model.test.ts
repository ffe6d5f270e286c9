import { describe, expect, test } from "vitest";
import { answer, completion, createStreamReader, question, streamed, textOf } from "./model.ts";

test("an answer of 40 tokens, whole", () => {
  expect(textOf(completion)).toBe(answer);
  expect(answer.split(" ")).toHaveLength(40);
  expect(textOf('{"error": {"message": "no"}}')).toBeUndefined();
});

describe("a stream", () => {
  const read = (text: string, size: number): ReturnType<typeof createStreamReader> => {
    const reader = createStreamReader();
    for (let at = 0; at < text.length; at += size) reader.add(text.slice(at, at + size));
    return reader;
  };

  test("is the same answer, however it is cut", () => {
    const { first, rest } = streamed(true);
    for (const size of [1, 7, 100, 100_000]) {
      const reader = read(first + rest, size);
      expect(reader.text()).toBe(answer);
      expect(reader.done()).toBe(true);
    }
  });

  test("has one token in its first piece, and no end", () => {
    const reader = read(streamed(false).first, 100_000);
    expect(reader.text()).toBe(answer.split(" ")[0]);
    expect(reader.done()).toBe(false);
  });

  test("says usage only to who asks for it", () => {
    expect(streamed(true).rest).toContain('"completion_tokens":40');
    expect(streamed(false).rest).not.toContain("usage");
  });

  test("skips comments, reads no space behind the colon, and fails on an error event", () => {
    const reader = createStreamReader();
    reader.add(': wait\n\ndata:{"choices":[{"delta":{"content":"a"}}]}\r\n\r\n');
    expect(reader.text()).toBe("a");
    expect(() => reader.add('data: {"error": {"message": "gone"}}\n\n')).toThrow("gone");
  });
});

test("no question comes twice, and a run's are its own", () => {
  const asked = new Set(Array.from({ length: 5_000 }, (_, n) => question("a", n)));
  expect(asked.size).toBe(5_000);
  expect(question("b", 7)).not.toBe(question("a", 7));
  // Not by their number alone.
  expect(question("a", 7).replace(/\d/g, "")).not.toBe(question("a", 8).replace(/\d/g, ""));
});
