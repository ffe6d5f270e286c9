import { expect, it } from "vitest";
import { createBlockCache } from "./block-cache.ts";

const prompt = (blocks: string, rest = 3): Int32Array =>
  Int32Array.from(
    Array.from(blocks)
      .flatMap((name) => Array<number>(16).fill(name.charCodeAt(0)))
      .concat(Array<number>(rest).fill(1)),
  );

it("finds whole blocks of a common beginning, and none behind one that differs", () => {
  const cache = createBlockCache(100);
  expect(cache.ask(prompt("abc"))).toBe(0);
  expect(cache.ask(prompt("abd"))).toBe(32);
  expect(cache.ask(prompt("xbc"))).toBe(0);
  expect(cache.ask(prompt("abc", 15))).toBe(48);
  // The last token is always computed.
  expect(cache.ask(prompt("abc", 0))).toBe(32);
});

it("drops what was used least recently, of one prompt the end first", () => {
  const cache = createBlockCache(4);
  cache.ask(prompt("abc"));
  cache.ask(prompt("xy"));
  expect(cache.ask(prompt("ab"))).toBe(32);
  expect(cache.ask(prompt("abc"))).toBe(32);
  expect(cache.ask(prompt("xy"))).toBe(16);
});
