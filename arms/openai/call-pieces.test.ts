import { describe, expect, it } from "vitest";
import { createCallPieces } from "./call-pieces.ts";

const head = { index: 0, id: "c", type: "function", function: { name: "f", arguments: "" } };
const more = (text: string, others: object = {}) => ({ index: 0, ...others, function: { arguments: text } });
const passed = (text: string) => ({ index: 0, id: null, type: null, name: null, arguments: text });

describe("pieces of calls", () => {
  it("are passed on as they come, what is said again once", () => {
    const take = createCallPieces();
    expect(take([head])).toEqual([{ index: 0, id: "c", type: "function", name: "f", arguments: "" }]);
    expect(take([more("{"), more("}", { id: "c", type: "function" })])).toEqual([passed("{"), passed("}")]);
    expect(take([more("")])).toEqual([]);
    expect(take([{ ...head, index: 1, id: "d" }])).toMatchObject([{ index: 1, id: "d" }]);
    expect(take(undefined)).toEqual([]);
  });

  it.each([
    ["without an index", [{ id: "c", function: { name: "f", arguments: "" } }]],
    ["not from 0", [{ ...head, index: 1 }]],
    ["without an id", [{ ...head, id: null }]],
    ["of another kind", [{ index: 0, id: "c", type: "custom", custom: { name: "f", input: "" } }]],
    ["with arguments that are no text", [{ ...head, function: { name: "f", arguments: {} } }]],
    ["no call", [null]],
  ])("%s, and all behind, wait for the answer", (_how, calls) => {
    const take = createCallPieces();
    expect(take(calls)).toEqual([]);
    expect(take([head])).toEqual([]);
  });

  it("of a call that is named otherwise later wait, too", () => {
    const take = createCallPieces();
    take([head]);
    expect(take([more("{", { id: "other" }), more("}")])).toEqual([]);
  });
});
