import { PassThrough } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { expect, it } from "vitest";
import { createScreen, cut, wrap } from "./screen.ts";

function screenOn(stream: PassThrough) {
  const chunks: string[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk.toString()));
  // A stream without isTTY is what a pipe looks like.
  const screen = createScreen(stream as unknown as NodeJS.WriteStream);
  return { screen, text: () => stripVTControlCharacters(chunks.join("")) };
}

it("writes a line for a task when it is done, and lets its failure through", async () => {
  const { screen, text } = screenOn(new PassThrough());
  expect(await screen.task("servers", Promise.resolve(3), (count) => `${count} of them`)).toBe(3);
  await expect(screen.task("models", Promise.reject(new Error("no net")))).rejects.toThrow("no net");
  expect(text()).toMatch(/✓ +0\.0 s {2}servers {2}3 of them\n.*✗ +0\.0 s {2}models\n/);
});

it("leaves no two empty lines together", () => {
  const { screen, text } = screenOn(new PassThrough());
  screen.line("one");
  screen.line();
  screen.heading("Two");
  expect(text()).toBe("one\n\nTwo\n\n");
});

it("cuts and wraps to the width", () => {
  expect(cut("a  b\n c", 10)).toBe("a b c");
  expect(cut("abcdef", 4)).toBe("abc…");
  expect(wrap("one two three", 7)).toEqual(["one two", "three"]);
});
