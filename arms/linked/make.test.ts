import fc from "fast-check";
import { expect, it } from "vitest";
import { longTokens } from "../../algorithms/linked-prefill/link-policy.ts";
import { chunkKey } from "../../connections/kv/keys.ts";
import type { Convention } from "../../connections/kv/port.ts";
import { aStore, format } from "../../connections/kv/values.testing.ts";
import { createTestingContext } from "./context.testing.ts";
import { createCacheMaker } from "./make.ts";
import type { KeyedPrompt } from "./plans.ts";

const { signal } = new AbortController();

/** Chunk 0 is the system prompt; chunks from 10 on are passages. */
function promptOf(numbers: readonly number[]): KeyedPrompt {
  const tokens: number[] = [];
  const chunks = [0, ...numbers].map((n) => {
    const length = (n % 3) + 2 + (n < 10 ? 0 : longTokens);
    const begin = tokens.length;
    for (let i = 0; i < length; i++) tokens.push(1_000 * n + i);
    return { chunk: chunkKey(format, "acme/default", [n]), begin, tokens: length };
  });
  return { tokens: Int32Array.from(tokens), chunks };
}

async function madeOf(prompt: KeyedPrompt, convention: Convention, together: boolean) {
  const context = createTestingContext();
  const store = await aStore({ memoryBytes: 10_000_000 });
  const maker = createCacheMaker({ context, store, format, convention });
  let [tokens, caches] = [0, 0];
  const take = async (wanted: ReturnType<typeof maker.wanted>) => {
    const made = await maker.make(wanted, signal);
    tokens += made.tokens;
    caches += made.caches;
    return made.done;
  };
  let wanted = maker.wanted(prompt);
  while (wanted.length > 0) {
    const done = await take(together ? wanted : wanted.slice(0, 1));
    wanted = wanted.filter((one) => !done.includes(one));
  }
  expect(maker.wanted(prompt)).toEqual([]);
  const tokensOf = (id: string): number[] => {
    const { begin, tokens: length } = prompt.chunks.find(({ chunk }) => chunk === id)!;
    return [...prompt.tokens.subarray(begin, begin + length)];
  };
  const listed = store.list().sort((a, b) => a.key.localeCompare(b.key));
  // What a prefill of the prefix and the chunk computes.
  for (const { key, chunk, prefix } of listed) {
    const { rows } = JSON.parse(String(await store.get(key))) as { rows: string[] };
    const whole = context.reference([...prefix.map((one) => one.chunk), chunk].flatMap(tokensOf));
    expect(rows).toEqual(whole.slice(-rows.length));
  }
  const made = listed.map(({ key, convention: how }) => [key, how]);
  return { made, tokens, caches, runs: context.runs.length };
}

it("makes the caches that a prefill passes with it, as prefills of their own would", async () => {
  const numbers = fc.uniqueArray(fc.integer({ min: 1, max: 16 }), { maxLength: 6 });
  const convention = fc.constantFrom<Convention>("alone", "system", "context");
  await fc.assert(
    fc.asyncProperty(numbers, convention, async (chunks, how) => {
      const [together, apart] = await Promise.all([true, false].map((all) => madeOf(promptOf(chunks), how, all)));
      expect(together!.made).toEqual(apart!.made);
      expect(together!.caches).toBe(apart!.caches);
      expect(together!.tokens).toBeLessThanOrEqual(apart!.tokens);
    }),
    { numRuns: 60 },
  );
});

it("makes both caches of each of three passages, and the system prompt's, in three prefills", async () => {
  const { made, runs } = await madeOf(promptOf([10, 11, 12]), "context", true);
  expect(made).toHaveLength(7);
  expect(runs).toBe(3);
});

it("makes a chunk that stands twice in a prompt once", async () => {
  const { made, runs } = await madeOf(promptOf([1, 1]), "system", true);
  expect(made).toHaveLength(2);
  expect(runs).toBe(1);
});

it("does not compute again what its prefix begins with", async () => {
  const prompt = promptOf([10, 11]);
  const [system, first, second] = prompt.chunks.map(({ tokens }) => tokens) as [number, number, number];
  const { tokens, runs } = await madeOf(prompt, "system", false);
  expect([tokens, runs]).toEqual([system + first + second, 3]);
});

it("makes an example's cache and those of the hubs before it in one prefill, then others' behind the same hubs", async () => {
  const context = createTestingContext();
  const store = await aStore({ memoryBytes: 10_000_000 });
  const maker = createCacheMaker({ context, store, format, convention: "context" });
  const [first, second] = [promptOf([1, 2, 3]), promptOf([1, 2, 4])];
  const made = await maker.make(maker.wanted(first, true), signal);
  expect(made).toMatchObject({ caches: 4, tokens: first.tokens.length });
  expect(maker.wanted(first, true)).toEqual([]);
  const [wanted, ...others] = maker.wanted(second, true);
  expect(others).toEqual([]);
  expect(wanted!.prefix.map(({ chunk }) => chunk)).toEqual(second.chunks.slice(0, 3).map(({ chunk }) => chunk));
  expect(await maker.make([wanted!], signal)).toMatchObject({ caches: 1, tokens: second.chunks[3]!.tokens });
});
