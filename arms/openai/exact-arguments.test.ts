import { describe, expect, it } from "vitest";
import { createAnswer } from "./answer.ts";
import { writeArguments } from "./exact-arguments.ts";
import { readStream } from "./stream.ts";

const object = '{"user":1176543210987654321, "x":1.0,"text":"\\u00e9"}';
const call = (at: string) => `{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":${at}}}`;
const choices = (message: string, name = "message") =>
  `{"choices":[{"index":0,"${name}":${message},"finish_reason":"tool_calls"}]}`;

interface Called {
  arguments?: unknown;
  input?: unknown;
}
/** Arguments of all calls of an answer. */
function argumentsIn(extra: string | null): unknown[] {
  const { message } = JSON.parse(extra ?? "{}") as {
    message: { tool_calls?: { function?: Called; custom?: Called }[]; function_call?: Called };
  };
  const calls = (message.tool_calls ?? []).map(({ function: called, custom }) => called ?? custom);
  return [...calls, message.function_call].flatMap((one) => (one === undefined ? [] : [one.arguments ?? one.input]));
}
function whole(json: string): unknown[] {
  const answer = createAnswer({ isWhole: true, extra: true, headers: new Headers() });
  answer.take(JSON.parse(json), json);
  return argumentsIn(answer.complete(true).extra);
}

describe("arguments that are objects are texts as they are written", () => {
  it("in a whole body", () => {
    expect(whole(choices(`{"content":null,"tool_calls":[null,${call(object)},${call('"{}"')}]}`))).toEqual([
      object,
      "{}",
    ]);
    expect(whole(choices(`{"content":null,"tool_calls":${call(object)}}`))).toEqual([object]);
    expect(whole(choices(`{"content":null,"function_call":{"name":"f","arguments":${object}}}`))).toEqual([object]);
    const custom = `{"type":"custom","custom":{"name":"f","input":${object}}}`;
    expect(whole(choices(`{"content":null,"tool_calls":[${custom}]}`))).toEqual([object]);
  });

  it("in a stream", async () => {
    const answer = createAnswer({ isWhole: false, extra: true, headers: new Headers() });
    const data = `data: ${choices(`{"tool_calls":[${call(object)}]}`, "delta")}\r\n\r\ndata: [DONE]\n\n`;
    async function* bytes() {
      await Promise.resolve();
      yield Buffer.from(data);
    }
    const isDone = await readStream(bytes(), 1_000, answer.take, () => undefined);
    expect(argumentsIn(answer.complete(isDone).extra)).toEqual([object]);
  });

  it("and what is none stays, whatever it is", () => {
    for (const json of [
      "5",
      "[]",
      "{}",
      '{"choices":{}}',
      choices("[]"),
      choices('{"tool_calls":[5,{"function":[]}]}'),
    ]) {
      const value: unknown = JSON.parse(json);
      writeArguments(value, json);
      expect(value).toEqual(JSON.parse(json));
    }
  });

  it("in time that grows with the text alone", () => {
    const json = choices(`{"content":null,"tool_calls":[${Array(20_000).fill(call(object)).join(",")}]}`);
    const value: unknown = JSON.parse(json);
    const began = performance.now();
    writeArguments(value, json);
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(JSON.stringify(value)).toContain(JSON.stringify(object));
  });
});
