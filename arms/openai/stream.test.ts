import fc from "fast-check";
import { APIError } from "openai";
import { describe, expect, it } from "vitest";
import { parsed, parsedPiece, type CompletionPart } from "./completion.ts";
import { NotACompletion } from "./errors.ts";
import { readStream } from "./stream.ts";

/** Texts of the pieces of a body that arrives in parts of `size` bytes. */
async function textsOf(body: string, size: number, most = 10_000): Promise<string[]> {
  const bytes = Buffer.from(body);
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.subarray(at, at + size));
      controller.close();
    },
  });
  const texts: string[] = [];
  await readStream(new Response(stream), most, ({ choices }) => void texts.push(choices[0]?.delta?.content ?? ""));
  return texts;
}
const event = (content: string): string => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}`;

describe("a stream of pieces", () => {
  it("is read however it is cut, with any line ending, comments and empty data between", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: "grapheme", maxLength: 8 }), { maxLength: 6 }),
        fc.constantFrom("\n", "\r\n"),
        fc.integer({ min: 1, max: 64 }),
        async (texts, end, size) => {
          const body = texts.map((text) => `: keep-alive${end}${end}${event(text)}${end}${end}`).join("");
          expect(await textsOf(`${body}data: [DONE]${end}${end}`, size)).toEqual(texts);
        },
      ),
      { numRuns: 100 },
    );
  });

  it("ends with [DONE]: what follows is not looked at", async () => {
    expect(await textsOf(`${event("a")}\n\ndata: [DONE]\n\ndata: {{{\n\n${event("b")}\n\n`, 7)).toEqual(["a"]);
  });

  it("that breaks off within an event gives what came before it", async () => {
    expect(await textsOf(`${event("a")}\n\n${event("b")}`, 7)).toEqual(["a"]);
    expect(await textsOf(`${event("a")}\n\ndata: {"choices":[{"delta"`, 7)).toEqual(["a"]);
  });

  it("with an error in it throws that, and what is no JSON a SyntaxError", async () => {
    await expect(textsOf(`data: {"error":{"code":"overloaded"}}\n\n`, 7)).rejects.toBeInstanceOf(APIError);
    await expect(textsOf(`data: {"choices"\n\n`, 7)).rejects.toBeInstanceOf(SyntaxError);
  });

  it("whose event has no end is given up, not kept in memory", async () => {
    await expect(textsOf(`data: ${"x".repeat(2_000)}`, 100, 1_000)).rejects.toBeInstanceOf(NotACompletion);
  });
});

describe("a piece of text", () => {
  const textual = fc.option(fc.oneof(fc.string(), fc.integer()), { nil: null });
  const piece = fc.record(
    {
      model: textual,
      usage: fc.constantFrom(null, undefined, {}, { prompt_tokens: 1, completion_tokens: 2 }),
      choices: fc.oneof(
        fc.array(
          fc.oneof(
            fc.anything(),
            fc.record(
              {
                delta: fc.oneof(fc.anything(), fc.record({ content: textual, refusal: textual }, { requiredKeys: [] })),
                finish_reason: textual,
                logprobs: fc.constantFrom(null, {}, 3),
                message: fc.constantFrom(undefined, { content: "m" }, null),
              },
              { requiredKeys: [] },
            ),
          ),
          { maxLength: 2 },
        ),
        fc.anything(),
      ),
    },
    { requiredKeys: [] },
  );
  const read = (parse: (value: unknown) => CompletionPart, value: unknown): unknown => {
    try {
      const { model, usage, choices } = parse(value);
      const [first, ...rest] = choices;
      return [
        model ?? null,
        usage ?? null,
        [first?.delta?.content, first?.delta?.refusal, first?.finish_reason, first?.logprobs, first?.message].map(
          (one) => one ?? null,
        ),
        rest.length,
      ];
    } catch (error) {
      return (error as Error).constructor;
    }
  };
  it("is what the schema says it is, refused where the schema refuses it", () => {
    fc.assert(
      fc.property(fc.oneof(piece, fc.anything()), (value) => {
        expect(read(parsedPiece, value)).toEqual(read(parsed, value));
      }),
      { numRuns: 2_000 },
    );
  });
});
