// Pieces of tool calls in chunks of chat completions.
import { isObject } from "../../algorithms/text/json-shape.ts";
import type { CallPiece } from "../../schemas/types.ts";

/** The rest of a call when the answer is final. */
export function pieceOf(chunk: object): CallPiece {
  const { index, id, function: called, custom } = chunk as Record<string, unknown>;
  const isCustom = isObject(custom) && !isObject(called);
  const { name, arguments: given, input } = isCustom ? custom : isObject(called) ? called : {};
  const text = isCustom ? input : given;
  return {
    index: Number(index),
    id: typeof id === "string" ? id : null,
    ...{ type: isCustom ? "custom" : null, name: typeof name === "string" ? name : null },
    arguments: typeof text === "string" ? text : "",
  };
}
