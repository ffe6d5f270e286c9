import { once } from "node:events";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { partsOf } from "../../connections/http/bodies.ts";
import { NotACompletion } from "./errors.ts";
import { readStream } from "./stream.ts";

/** Values of the events of a body that arrives in parts of `size` bytes. */
async function valuesOf(body: string, size: number, most = 10_000): Promise<unknown[]> {
  const bytes = Buffer.from(body);
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.subarray(at, at + size));
      controller.close();
    },
  });
  const values: unknown[] = [];
  await readStream(
    partsOf(stream),
    most,
    (value) => void values.push(value),
    () => undefined,
  );
  return values;
}
const event = (text: string): string => `data: ${JSON.stringify({ text })}`;
const textsOf = async (...of: Parameters<typeof valuesOf>): Promise<unknown[]> =>
  (await valuesOf(...of)).map((value) => (value as { text: string }).text);

describe("a stream of pieces", () => {
  it("is read however it is cut, with any line ending, comments and empty data between", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: "grapheme", maxLength: 8 }), { maxLength: 6 }),
        fc.constantFrom("\n", "\r\n", "\r"),
        fc.integer({ min: 1, max: 64 }),
        fc.integer({ min: 0, max: 2 }),
        async (texts, end, size, missing) => {
          const body = texts.map((text) => `: keep-alive${end}${end}${event(text)}${end}${end}`).join("");
          expect(await textsOf(`${body}data: [DONE]${end}${end}`, size)).toEqual(texts);
          expect(await textsOf(body.slice(0, body.length - missing * end.length), size)).toEqual(texts);
        },
      ),
      { numRuns: 100 },
    );
  });

  it("ends with Anthropic's last event, though the connection stays", async () => {
    const left = new AbortController();
    async function* open() {
      yield Buffer.from('data: "a"\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\ndata: "b"\n\n');
      await once(left.signal, "abort");
      throw new Error("left");
    }
    const values: unknown[] = [];
    expect(
      await readStream(
        open(),
        100,
        (value) => void values.push(value),
        () => left.abort(),
      ),
    ).toBe(true);
    expect(values).toEqual(["a"]);
  });

  it.each(["[DONE]", " [DONE] ", '"[DONE]"'])("ends with %s: what follows is not looked at", async (done) => {
    expect(await textsOf(`${event("a")}\n\ndata: ${done}\n\ndata: {{{\n\n${event("b")}\n\n`, 7)).toEqual(["a"]);
  });

  it("that breaks off has what came whole, be it without a line end", async () => {
    expect(await textsOf(`${event("a")}\n\n${event("b")}`, 7)).toEqual(["a", "b"]);
    expect(await textsOf(`${event("a")}\n\n${event("b")}\n`, 7)).toEqual(["a", "b"]);
    expect(await textsOf(`${event("a")}\n\ndata: {"choices":[{"delta"`, 7)).toEqual(["a"]);
  });

  it("has events that say nothing", async () => {
    const body = `event: ping\ndata: {"type":"ping"}\n\nevent: ping\ndata: pong\n\ndata:\n\ndata: ""\n\ndata: ping\n\ndata: null\n\nid: 1\nretry: x\n\n${event("a")}\n\n`;
    expect(await valuesOf(body, 9)).toEqual([{ type: "ping" }, { text: "a" }]);
  });

  it("has errors as events of that name", async () => {
    expect(await valuesOf(`event: error\ndata: {"message":"m"}\n\nevent: error\ndata: too much\n\n`, 9)).toEqual([
      { error: { message: "m" } },
      { error: "too much" },
    ]);
    expect(await valuesOf(`event: error\ndata: {"error":{"code":"x"}}\n\n`, 9)).toEqual([{ error: { code: "x" } }]);
  });

  it("has errors as JSON outside of events, as Gemini breaks off", async () => {
    const error = { error: { code: 429, message: "quota", status: "RESOURCE_EXHAUSTED" } };
    for (const text of [JSON.stringify(error), JSON.stringify(error, null, 2), JSON.stringify([error], null, 2)])
      for (const end of ["", "\n", "\r\n\r\n"])
        expect(await valuesOf(`${event("a")}\n\n${text}${end}`, 9)).toEqual([{ text: "a" }, error]);
    expect(await valuesOf(`{"text":"b"}\n\n{"error"\n\n`, 9)).toEqual([]);
    expect(await textsOf(`{\n${"}\n".repeat(100_000)}\n\n${event("a")}\n\n`, 99_999, 1_000_000)).toEqual(["a"]);
  });

  it("has errors as lines of that name, as llama-server wrote them until late 2025", async () => {
    const error = {
      code: 400,
      message: "the request exceeds the available context size",
      type: "invalid_request_error",
    };
    expect(await valuesOf(`error: ${JSON.stringify(error)}\n\ndata: [DONE]\n\n`, 9)).toEqual([{ error }]);
    expect(await valuesOf(`error: ${JSON.stringify({ error })}\n\n`, 9)).toEqual([{ error }]);
    expect(await valuesOf(`error: no JSON\n\nerrors: {}\n\ndata: [DONE]\n\nerror: {}\n\n`, 9)).toEqual([]);
  });

  it("with what is no JSON throws a SyntaxError", async () => {
    await expect(textsOf(`data: {"choices"\n\n`, 7)).rejects.toBeInstanceOf(SyntaxError);
  });

  it("whose event has no end is given up, not kept in memory", async () => {
    await expect(textsOf(`data: ${"x".repeat(2_000)}`, 100, 1_000)).rejects.toBeInstanceOf(NotACompletion);
  });
});
