import { describe, expect, it } from "vitest";
import { BrokenCall, NotACompletion } from "./errors.ts";
import { createToolCalls } from "./tool-calls.ts";

type Piece = Record<string, unknown>;
const head = (index: number | null, id: string | null, name: string, text = "", more: Piece = {}): Piece => ({
  ...(index !== null && { index }),
  ...(id !== null && { id }),
  ...{ type: "function", function: { name, arguments: text }, ...more },
});
const more = (index: number | null, text: string, others: Piece = {}): Piece => ({
  ...(index !== null && { index }),
  ...others,
  function: { arguments: text, ...(others["name"] === undefined ? {} : { name: others["name"] }) },
});

/** The final calls as "id name arguments", and as a reader has them who only saw the pieces. */
function read(chunks: readonly Piece[][], isWhole = false) {
  const calls = createToolCalls();
  const seen: string[][] = [];
  for (const chunk of chunks)
    for (const { index, id, name, arguments: text } of calls.add(chunk, isWhole)) {
      if (id !== null) seen[index] = [id, name ?? "", ""];
      seen[index]![2] = `${seen[index]![2] ?? ""}${text}`;
    }
  const whole = calls.whole(false).map(({ id, function: called }) => {
    const { name, arguments: text } = called as { name: string; arguments: string };
    return `${String(id)} ${name} ${text}`;
  });
  return { whole, seen: seen.map((one) => one.join(" ")) };
}

describe("calls of tools in a stream", () => {
  it.each<[string, Piece[][], string[]]>([
    [
      "OpenAI's form",
      [[head(0, "a", "f")], [more(0, '{"x"'), more(0, ":1}")], [head(1, "b", "g", "{}")]],
      ['a f {"x":1}', "b g {}"],
    ],
    ["what is said with every piece", [[head(0, "a", "f", '{"x"')], [head(0, "a", "f", ":1}")]], ['a f {"x":1}']],
    ["empty words behind the first piece", [[head(0, "a", "f", '{"x"')], [head(0, "", "", ":1}")]], ['a f {"x":1}']],
    [
      "a used index with another id",
      [[head(0, "a", "f", '{"x":1}')], [head(0, "b", "g", '{"y"')], [more(0, ":2}")]],
      ['a f {"x":1}', 'b g {"y":2}'],
    ],
    [
      "a used index with the same name and no id",
      [[head(0, "a", "f", '{"x":1}')], [more(0, '{"x":2}', { name: "f" })]],
      ['a f {"x":1}', 'call_ f {"x":2}'],
    ],
    [
      "no index",
      [[head(null, "a", "f", '{"x"'), more(null, ":1}")], [head(null, "b", "g", "{}")]],
      ['a f {"x":1}', "b g {}"],
    ],
    [
      "pieces that name their call by its id",
      [
        [head(null, "a", "f", "{"), head(null, "b", "g", "{")],
        [more(null, "}", { id: "a" })],
        [more(null, "}", { id: "b" })],
      ],
      ["a f {}", "b g {}"],
    ],
    ["an index that comes late", [[head(null, "a", "f", "{")], [more(0, "}")]], ["a f {}"]],
    [
      "an index as text",
      [[{ ...head(null, "a", "f", "{"), index: "0" }], [{ ...more(null, "}"), index: "0" }]],
      ["a f {}"],
    ],
    [
      "a call that is said once more when it is complete",
      [[head(0, "a", "f", '{"x":1}')], [head(0, "a", "f", '{"x":1}')]],
      ['a f {"x":1}'],
    ],
    [
      "arguments that are said once more when they are complete",
      [[head(0, "a", "f")], [more(0, '{"x"'), more(0, ":1}")], [more(0, '{"x":1}')]],
      ['a f {"x":1}'],
    ],
    [
      "all arguments so far in every piece",
      [[head(0, "a", "f")], ...['{"x"', '{"x":[1', '{"x":[1,11]}', '{"x":[1,11]}'].map((text) => [more(0, text)])],
      ['a f {"x":[1,11]}'],
    ],
    [
      "another id in every piece",
      [
        ...[[head(0, "a", "f")], [more(0, '{"x"', { id: "b" })], [head(0, "c", "f", ":1}")]],
        ...[[head(0, "d", "f", "{")], [more(0, "}", { id: "e" })]],
      ],
      ['a f {"x":1}', "d f {}"],
    ],
    ["the beginning of arguments, and then all", [[head(0, "a", "f", "{")], [more(0, '{"x":1}')]], ['a f {"x":1}']],
    ["an index from 1", [[head(1, "a", "f", "{}")]], ["a f {}"]],
    ["a higher index first", [[head(1, "b", "g", "{}")], [head(0, "a", "f", "{}")]], ["a f {}", "b g {}"]],
    [
      "arguments that are no text",
      [[{ index: 0, id: "a", function: { name: "f", arguments: { x: [1] } } }]],
      ['a f {"x":[1]}'],
    ],
    [
      "one id for calls of two names",
      [[head(null, "c", "f", "{}")], [head(null, "c", "g", "{}")]],
      ["c f {}", "c g {}"],
    ],
    ["a call that is said twice", [[head(0, "c", "f", "{}")], [head(0, "c", "f", "{}")]], ["c f {}"]],
    ["no index for calls of two names", [[head(null, null, "f")], [head(null, null, "g")]], ["call_ f ", "call_ g "]],
    ["no arguments", [[{ index: 0, id: "a", function: { name: "f", arguments: null } }]], ["a f "]],
    ["nothing", [[]], []],
  ])("are read with %s", (_how, chunks, expected) => {
    const { whole, seen } = read(chunks);
    expect(whole.map((one) => one.replace(/call_[0-9a-f]{32}/, "call_"))).toEqual(expected);
    // What was streamed stands at the same place, whole.
    seen.forEach((one, index) => expect(one).toBe(whole[index]));
  });

  it.each([
    ["in pieces", "get_", "weather"],
    ["as far as it is known", "get_", "get_weather"],
  ])("have a name that comes %s", (_how, first, second) => {
    for (const id of ["a", null]) {
      const calls = createToolCalls();
      calls.add([head(0, "a", first)], false);
      calls.add([head(0, id, second)], false);
      calls.add([more(0, "{}")], false);
      expect(calls.whole(false)).toEqual([
        { id: "a", type: "function", function: { name: "get_weather", arguments: "{}" } },
      ]);
    }
  });

  it("have the object in a whole message whose text is written as JSON", () => {
    expect(read([[head(0, "a", "f", JSON.stringify('{"x":1}'))]], true).whole).toEqual(['a f {"x":1}']);
  });

  it("are streamed as they come in OpenAI's form, and half a pair with its other half", () => {
    const calls = createToolCalls();
    const added = (piece: Piece) => calls.add([piece], false);
    const passed = (text: string) => [{ index: 0, id: null, type: null, name: null, arguments: text }];
    expect(added(head(0, "a", "f"))).toEqual([{ index: 0, id: "a", type: "function", name: "f", arguments: "" }]);
    expect(added(more(0, '{"x":"\ud83d'))).toEqual(passed('{"x":"'));
    expect(added(more(0, '\ude00"}'))).toEqual(passed('😀"}'));
    expect(added(more(0, ""))).toEqual([]);
    expect(calls.add(undefined, false)).toEqual([]);
  });

  it("keep what else is said of them", () => {
    const calls = createToolCalls();
    calls.add([head(0, "a", "f", "{}", { extra_content: { signature: "s" } })], false);
    calls.add([{ index: 1, id: "b", type: "custom", custom: { name: "g", input: "free " } }], false);
    calls.add([{ index: 1, custom: { input: "text" } }], false);
    expect(calls.whole(false)).toEqual([
      { id: "a", type: "function", function: { name: "f", arguments: "{}" }, extra_content: { signature: "s" } },
      { id: "b", type: "custom", custom: { name: "g", input: "free text" } },
    ]);
  });

  it("are apart in a whole message, whatever their ids", () => {
    expect(read([[head(null, "a", "f"), head(null, "a", "f"), head(0, null, "f", "{}")]], true).whole).toEqual([
      ...["a f ", "a f "],
      expect.stringMatching(/^call_[0-9a-f]{32} f \{\}$/) as string,
    ]);
  });
});

describe("a call that can't be right is refused:", () => {
  it.each<[string, Piece[][], new () => Error]>([
    ["without a name", [[{ index: 0, id: "a", function: { arguments: "{}" } }]], BrokenCall],
    ["of an index that no first piece had", [[head(0, "a", "f", "{}")], [more(1, "{}")]], BrokenCall],
    ["whose arguments are cut", [[head(0, "a", "f", '{"x":')]], BrokenCall],
    ...["null", "5", "[]", '"x"', "true", JSON.stringify("{}")].map((text): [string, Piece[][], new () => Error] => [
      `whose arguments are ${text}`,
      [[head(0, "a", "f", text)]],
      BrokenCall,
    ]),
    ["whose arguments lack their beginning", [[head(0, "a", "f", ':1}"')]], BrokenCall],
    ["two in one, of which the second has no name", [[head(0, "a", "f", "{}")], [more(0, '{"y":1}')]], NotACompletion],
    ["two in one of the same id", [[head(0, "a", "f", "{}")], [head(0, "a", "f", '{"y":1}')]], NotACompletion],
    ["arguments that are a number", [[{ index: 0, id: "a", function: { name: "f", arguments: 5 } }]], NotACompletion],
    ["a function that is a text", [[{ index: 0, id: "a", function: "f" }]], NotACompletion],
    ["a list of texts", [["f" as unknown as Piece]], NotACompletion],
  ])("%s", (_what, chunks, error) => {
    expect(() => read(chunks)).toThrow(error);
  });

  it("but not a custom one, which takes any text", () => {
    const calls = createToolCalls();
    const custom = { id: "b", type: "custom", custom: { name: "g", input: "5" } };
    calls.add([custom], true);
    expect(calls.whole(false)).toEqual([custom]);
    const pieces = createToolCalls();
    pieces.add([{ index: 0, id: "b", type: "custom", custom: { name: "g", input: "" } }], false);
    for (const input of ["a = []", "a = []", "if (a)", " {", "}"]) pieces.add([{ index: 0, custom: { input } }], false);
    pieces.add([{ index: 0, id: "c", type: "custom", custom: { name: "g", input: "d" } }], false);
    pieces.add([{ index: 0, id: "e", type: "custom", custom: { name: "g", input: "f" } }], false);
    const inputs = pieces.whole(false).map((call) => (call["custom"] as { input: string }).input);
    expect(inputs).toEqual(["a = []a = []if (a) {}", "d", "f"]);
  });

  it("but one that is cut by its length is passed on as it is", () => {
    const calls = createToolCalls();
    calls.add([head(0, "a", "f", '{"x":')], false);
    expect(calls.whole(true)).toMatchObject([{ function: { arguments: '{"x":' } }]);
  });
});
