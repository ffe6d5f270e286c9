import { expect, test } from "vitest";
import { within } from "./within.ts";

test("ends when the promise does, however it does", async () => {
  await expect(within(60_000, Promise.resolve())).resolves.toBeUndefined();
  await expect(within(60_000, Promise.reject(new Error("away")))).resolves.toBeUndefined();
});

test("ends without the promise when that takes too long", async () => {
  let late: (error: Error) => void = () => undefined;
  const never = new Promise<void>((_, reject) => (late = reject));
  await expect(within(1, never)).resolves.toBeUndefined();
  late(new Error("no caller listens any more"));
});
