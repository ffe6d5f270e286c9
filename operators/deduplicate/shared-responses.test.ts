import { expect, it } from "vitest";
import type { FirstResponse } from "./first-responses.ts";
import { createSharedResponses } from "./shared-responses.ts";

it("asks once for all who ask within a moment, apart for every tenant and id, and again after a failure", async () => {
  const asked: string[] = [];
  let answer: () => Promise<FirstResponse | null> = () => Promise.resolve(null);
  const shared = createSharedResponses({
    find: (tenant, id) => {
      asked.push(`${tenant}/${id}`);
      return answer();
    },
  });
  await Promise.all([
    shared.find("a", "1", 0),
    shared.find("a", "1", 499),
    shared.find("b", "1", 0),
    shared.find("a", "2", 0),
  ]);
  expect(asked).toEqual(["a/1", "b/1", "a/2"]);
  answer = () => Promise.reject(new Error("away"));
  await expect(shared.find("a", "1", 500)).rejects.toThrow("away");
  answer = () => Promise.resolve(null);
  expect(await shared.find("a", "1", 501)).toBeNull();
  expect(asked.slice(3)).toEqual(["a/1", "a/1"]);
});
