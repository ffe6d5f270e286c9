import { expect, test } from "vitest";
import { errorOf, messageOf } from "./errors.ts";

test("an error keeps its message and identity; other values become text", () => {
  const error = new TypeError("no such thing");
  expect(messageOf(error)).toBe("no such thing");
  expect(errorOf(error)).toBe(error);
  expect(messageOf("plain")).toBe("plain");
  expect(messageOf(undefined)).toBe("undefined");
  expect(errorOf(7)).toEqual(new Error("7"));
});
