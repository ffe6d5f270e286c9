import { expect, test } from "vitest";
import { errorOf, messageOf, succeeds } from "./errors.ts";

test("an error keeps its message and identity; other values become text", () => {
  const error = new TypeError("no such thing");
  expect(messageOf(error)).toBe("no such thing");
  expect(errorOf(error)).toBe(error);
  expect(messageOf("plain")).toBe("plain");
  expect(messageOf(undefined)).toBe("undefined");
  expect(errorOf(7)).toEqual(new Error("7"));
});

test("work succeeds or does not, whatever it gives", async () => {
  expect(await succeeds(Promise.resolve(false))).toBe(true);
  expect(await succeeds(Promise.reject(new Error("away")))).toBe(false);
});
