import { expect, it } from "vitest";
import { createPromptMemory } from "./prompt-memory.ts";

const prompt = (arm: string, ...ids: string[]) => ({
  arm,
  examples: ids.map((id) => ({ id, similarity: 0.9, helpfulness: 0.8, tokens: 10 })),
});
const among = ["a", "b", "c"].map((id) => ({ id, helpfulness: 0.5 }));

it("keeps apart arms and domains, and knows nothing of prompts without examples", () => {
  const memory = createPromptMemory(() => 0);
  memory.note("a/d", "one", prompt("small", "b", "a"), true);
  memory.note("a/d", "two", prompt("small"), true);
  expect(memory.longest("small", "a/d", among, 3, 0)).toEqual(["b", "a"]);
  expect(memory.longest("large", "a/d", among, 3, 0)).toEqual([]);
  expect(memory.longest("small", "b/d", among, 3, 0)).toEqual([]);
  expect(memory.keptOf("a/d", "one", "small")?.examples.map(({ id }) => id)).toEqual(["b", "a"]);
  expect(memory.keptOf("a/d", "two", "small")).toBeUndefined();
});

it("forgets sequences after five minutes", () => {
  let now = 0;
  const memory = createPromptMemory(() => now);
  memory.note("a/d", "one", prompt("small", "b", "a"), true);
  now = 300_001;
  expect(memory.longest("small", "a/d", among, 3, 0)).toEqual([]);
});

it("has a bound over all domains: those used least recently go", () => {
  const memory = createPromptMemory(() => 0);
  const begin = (domain: number): void => {
    for (let i = 0; i < 100; i++)
      memory.note(`t${domain}/d`, `${i}`, prompt("small", ...[1, 2, 3, 4, 5].map((n) => `${i}-${n}`)), true);
  };
  for (let domain = 0; domain < 620; domain++) begin(domain);
  const known = (domain: number) => memory.longest("small", `t${domain}/d`, [{ id: "7-1", helpfulness: 1 }], 1, 0);
  expect([known(0), known(619)]).toEqual([[], ["7-1"]]);
});
