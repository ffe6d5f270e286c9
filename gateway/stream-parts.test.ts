// The rule of streams: what is sent together is the answer, or the stream ends in an error.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CallPiece } from "../schemas/types.ts";
import { createStreamParts } from "./stream-parts.ts";

/** A stream of its text alone. */
function createStreamText() {
  const parts = createStreamParts();
  return {
    take: (delta: { attempt: number; index: number; text: string }) => parts.take({ ...delta, calls: [], blocks: [] }),
    next: () => parts.next().text,
    rest: (text: string) => parts.rest({ text, passthrough: null })?.text ?? null,
  };
}
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

interface ToolCall {
  id: string;
  type: string;
  function: { name: string; arguments: string };
}
const callOf = (id: string, all: string): ToolCall => ({
  ...{ id, type: "function" },
  function: { name: "f", arguments: all },
});
const finalOf = (calls: readonly object[], text = "") => ({
  text,
  passthrough: JSON.stringify({ message: calls.length === 0 ? {} : { tool_calls: calls } }),
});
/** A call cut into pieces of `size`. */
function piecesOf(
  { id, type, function: { name, arguments: all } }: ToolCall,
  index: number,
  size: number,
): CallPiece[] {
  const rest = Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));
  const head = { index, id, type, name, arguments: "" };
  return [head, ...rest.map((piece) => ({ index, id: null, type: null, name: null, arguments: piece }))];
}
/** What a client has of what it was sent, pieces or what was left. */
function assembled(sent: readonly object[]): object[] {
  const calls: ToolCall[] = [];
  for (const piece of sent as (Partial<CallPiece> & Partial<ToolCall> & { index: number })[]) {
    const { index, id, type, function: called } = piece;
    const call = (calls[index] ??= callOf("", ""));
    call.id += id ?? "";
    if (type) call.type = type;
    if (id) call.function.name = "";
    call.function.name += called?.name ?? piece.name ?? "";
    call.function.arguments += called?.arguments ?? piece.arguments ?? "";
  }
  return calls;
}

describe("the calls of a stream", () => {
  it("come by pieces, id and name once, and end with what the pieces lack", () => {
    const parts = createStreamParts();
    const [head, one, two] = piecesOf(callOf("c", '{"a":1}'), 0, 3) as [CallPiece, CallPiece, CallPiece];
    parts.take({ attempt: 1, index: 0, text: "", calls: [head], blocks: [] });
    expect(parts.next().calls).toEqual([head]);
    parts.take({ attempt: 1, index: 1, text: "", calls: [one], blocks: [] });
    parts.take({ attempt: 1, index: 2, text: "", calls: [two], blocks: [] });
    expect(parts.next().calls).toEqual([{ ...one, arguments: one.arguments + two.arguments }]);
    expect(parts.next().calls).toEqual([]);
    expect(parts.rest(finalOf([callOf("c", '{"a":1}')]))?.calls).toEqual([{ index: 0, function: { arguments: "}" } }]);
    const also = { ...callOf("c", '{"a":1'), signature: "s" };
    expect(parts.rest(finalOf([also, callOf("d", "{}")]))?.calls).toEqual([
      { index: 0, signature: "s" },
      { index: 1, ...callOf("d", "{}") },
    ]);
  });

  it("end in an error where the answer has another call, or none", () => {
    const parts = createStreamParts();
    parts.take({ attempt: 1, index: 0, text: "", calls: piecesOf(callOf("c", "{}"), 0, 2), blocks: [] });
    parts.next();
    const others = [[], [callOf("d", "{}")], [callOf("c", "[]")], [null], [{ ...callOf("c", ""), function: 1 }]];
    for (const other of others) expect(parts.rest(finalOf(other as object[]))).toBe(null);
  });

  it("are always the beginning of the answer, or an error, whatever is lost, repeated or mixed", () => {
    const call = fc.tuple(fc.constantFrom("x", "y"), fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 8 }));
    const attempts = fc.array(fc.array(call, { maxLength: 3 }), { minLength: 1, maxLength: 3 });
    const size = fc.integer({ min: 1, max: 4 });
    const run = fc.record({ attempt: fc.nat(2), size, together: size, lost: fc.integer({ min: -3, max: 8 }) });
    const sends = fc.array(fc.boolean(), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(attempts, fc.array(run, { maxLength: 4 }), sends, (made, runs, sending) => {
        const answers = made.map((calls) => calls.map(([id, all]) => callOf(id, all)));
        const parts = createStreamParts();
        const sent: object[] = [];
        let turn = 0;
        for (const { attempt, size: length, together, lost } of runs) {
          const calls = answers[attempt % answers.length] ?? [];
          const pieces = calls.flatMap((one, index) => piecesOf(one, index, length));
          for (let index = 0; index * together < pieces.length; index++) {
            const some = pieces.slice(index * together, (index + 1) * together);
            if (index !== lost) parts.take({ attempt, index, text: "", calls: some, blocks: [] });
            if (sending[turn++ % sending.length] === true) sent.push(...parts.next().calls);
          }
        }
        const final = answers.at(-1) ?? [];
        const rest = parts.rest(finalOf(final));
        if (rest !== null) expect(assembled([...sent, ...rest.calls])).toEqual(final);
        // An error only for a reader who has what the answer does not begin with.
        else {
          const begun = assembled(sent) as ToolCall[];
          const isBeginning = begun.every(({ id, function: { arguments: all } }, index) => {
            const whole = final[index];
            return whole?.id === id && whole.function.arguments.startsWith(all);
          });
          expect(isBeginning).toBe(false);
        }
      }),
    );
  });
});
