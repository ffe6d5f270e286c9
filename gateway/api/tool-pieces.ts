// Pieces of tool calls in chunks of chat completions.
import { isObject } from "../../algorithms/text/json-shape.ts";
import type { CallPiece } from "../../schemas/types.ts";

/** The rest of a call when the answer is final. */
export function pieceOf(chunk: object): CallPiece {
  const { index, id, function: called } = chunk as Record<string, unknown>;
  const { name, arguments: text } = isObject(called) ? called : {};
  return {
    index: Number(index),
    ...{ id: typeof id === "string" ? id : null, type: null, name: typeof name === "string" ? name : null },
    arguments: typeof text === "string" ? text : "",
  };
}
