import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createStreamText } from "./stream-text.ts";

const delta = (index: number, text: string, attempt = 1) => ({ attempt, index, text });

describe("the text of a stream", () => {
  it("goes on with each piece, and ends with what the pieces lack", () => {
    const text = createStreamText();
    text.take(delta(0, "Hel"));
    expect(text.next()).toBe("Hel");
    text.take(delta(1, "lo "));
    text.take(delta(2, "wor"));
    expect([text.next(), text.next(), text.rest("Hello world")]).toEqual(["lo wor", "", "ld"]);
  });

  it("sends nothing twice when the model is asked again, and goes on behind what was sent", () => {
    const text = createStreamText();
    text.take(delta(0, "Hello"));
    text.next();
    for (const [index, piece] of ["He", "ll", "o you"].entries()) text.take(delta(index, piece, 2));
    expect([text.next(), text.rest("Hello you")]).toEqual([" you", ""]);
  });

  it("sends no more of an attempt that begins otherwise; the response decides", () => {
    const text = createStreamText();
    text.take(delta(0, "Hello"));
    text.next();
    text.take(delta(0, "Hi there, you", 2));
    expect([text.next(), text.rest("Hi there, you"), text.rest("Hello!")]).toEqual(["", null, "!"]);
  });

  it("waits for the response where a piece is missing", () => {
    const text = createStreamText();
    text.take(delta(0, "a"));
    text.take(delta(2, "c"));
    text.take(delta(3, "d"));
    expect([text.next(), text.rest("abcd")]).toEqual(["a", "bcd"]);
    const late = createStreamText();
    late.take(delta(1, "b"));
    expect([late.next(), late.rest("ab")]).toEqual(["", "ab"]);
  });

  it("is always the beginning of the answer, or an error, whatever is lost, repeated or mixed", () => {
    const answer = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 12 });
    const attempts = fc.array(answer, { minLength: 1, maxLength: 3 });
    const event = fc.record({ attempt: fc.nat(2), from: fc.nat(11), index: fc.nat(5), send: fc.boolean() });
    fc.assert(
      fc.property(attempts, fc.array(event, { maxLength: 30 }), (texts, events) => {
        const text = createStreamText();
        let sent = "";
        for (const { attempt, from, index, send } of events) {
          text.take({ attempt, index, text: (texts[attempt % texts.length] ?? "").slice(from, from + 3) });
          if (send) sent += text.next();
        }
        const final = texts.at(-1) ?? "";
        const rest = text.rest(final);
        if (rest === null) expect(final.startsWith(sent)).toBe(false);
        else expect(sent + rest).toBe(final);
      }),
    );
  });
});
