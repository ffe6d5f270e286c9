import { expect, it } from "vitest";
import { lazily } from "./lazily.ts";

it("opens once for all who ask, and again after a failure", async () => {
  let opened = 0;
  let away = true;
  const thing = lazily(async () => {
    opened++;
    if (away) throw new Error("away");
    return "open";
  });
  expect(thing.opened()).toBeUndefined();
  await expect(Promise.all([thing.get(), thing.get()])).rejects.toThrow("away");
  expect([opened, thing.opened()]).toEqual([1, undefined]);
  away = false;
  expect(await Promise.all([thing.get(), thing.get()])).toEqual(["open", "open"]);
  expect(opened).toBe(2);
});
