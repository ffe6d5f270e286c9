import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parsePolicy, type LinkPolicy } from "../../algorithms/linked-prefill/link-policy.ts";
import type { Convention, KvStore } from "../../connections/kv/port.ts";
import { aStore, format } from "../../connections/kv/values.testing.ts";
import { createIdleWork } from "./idle.ts";
import { createCacheMaker } from "./make.ts";
import { longTokens } from "../../algorithms/linked-prefill/link-policy.ts";
import type { KeyedPrompt } from "./plans.ts";
import { createLinkedModel } from "./model.ts";
import { createPrefixCache, type PrefixCache } from "./prefix-cache.ts";
import { createTestingContext } from "./context.testing.ts";

function policy(name: string): LinkPolicy {
  const parsed = parsePolicy(name);
  if ("problem" in parsed) throw new Error(parsed.problem);
  return parsed;
}

/** Chunk n has n % 4 + 2 tokens of its own, from 10 on 128 more; the question has three. */
function promptOf(...numbers: number[]) {
  const tokens: number[] = [];
  const chunks = numbers.map((n) => {
    const begin = tokens.length;
    const length = (n % 4) + 2 + (n < 10 ? 0 : longTokens);
    for (let i = 0; i < length; i++) tokens.push(1_000 * n + i);
    return { kind: "example" as const, id: String(n), configured: n === 0, begin, end: tokens.length };
  });
  return { tokens: Int32Array.from([...tokens, 7, 8, 9]), chunks, turnEnds: [] };
}

interface LinkedOptions {
  convention?: Convention;
  pause?: () => Promise<void>;
  memoryBytes?: number;
  prefixes?: PrefixCache;
  keepInFull?: boolean;
}

async function linked(options: LinkedOptions = {}) {
  const { convention = "seen", pause, memoryBytes = 1_000_000, prefixes, keepInFull = true } = options;
  const context = createTestingContext(pause);
  const store = await aStore({ memoryBytes });
  const common = { context, store, format, convention };
  const model = createLinkedModel({ ...common, keepInFull, ...(prefixes && { prefixes }) });
  const idle = createIdleWork({ model, maker: createCacheMaker(common), vocabulary: 1 });
  const answerOf =
    (domain: string, keep: boolean) =>
    async (name: string, ...numbers: number[]) => {
      const ending = { signal: new AbortController().signal, onProgress: () => undefined, keep };
      const prompt = model.keyed(promptOf(...numbers), domain);
      const answered = await model.answer(prompt, policy(name), { maxTokens: 4 }, ending);
      // Requests may run together: the last token's row tells which run is whose.
      const { rows } = context.runs.findLast((run) => run.rows.at(-1) === answered.result.text)!;
      const { linked: reused, recomputed, prefilled } = answered;
      return { rows, counts: [reused, recomputed, prefilled], whole: context.reference(prompt.tokens), prompt };
    };
  return { answer: answerOf("acme/default", true), answerOf, context, store, model, idle };
}

describe("linked model", () => {
  it("computes what is missing as any prefill does, and links it exactly in the same prompt", async () => {
    const { answer, store } = await linked();
    const first = await answer("naive", 1, 2, 3);
    expect(first.rows).toEqual(first.whole);
    expect(first.counts).toEqual([0, 0, 15]);
    expect(store.list().map(({ convention }) => convention)).toEqual(["alone", "seen", "seen"]);
    const second = await answer("naive", 1, 2, 3);
    expect(second.rows).toEqual(second.whole);
    expect(second.counts).toEqual([12, 0, 3]);
  });

  it("links chunks in another order, and recomputes what the policy says behind them", async () => {
    const { answer } = await linked();
    const before = await answer("naive", 1, 2, 3);
    const naive = await answer("naive", 1, 3, 2);
    // Chunk 1 has 3 tokens, 3 has 5, 2 has 4.
    expect(naive.rows.slice(0, 12)).toEqual([
      ...before.rows.slice(0, 3),
      ...before.rows.slice(7, 12),
      ...before.rows.slice(3, 7),
    ]);
    expect(naive.counts).toEqual([12, 0, 3]);
    const last = await answer("last-1", 1, 3, 2);
    expect(last.rows.slice(0, 8)).toEqual(naive.rows.slice(0, 8));
    expect(last.rows.slice(8)).not.toEqual(naive.rows.slice(8));
    expect(last.counts).toEqual([8, 4, 3]);
    const full = await answer("full", 1, 3, 2);
    expect(full.rows).toEqual(full.whole);
    expect(full.counts).toEqual([0, 12, 3]);
  });

  it("keeps what a full prefill computes for others to link, unless its arm links nothing", async () => {
    const keeping = await linked();
    await keeping.answer("full", 1, 2);
    expect(keeping.store.list()).toHaveLength(2);
    const { answer, store, context } = await linked({ keepInFull: false });
    expect((await answer("full", 1, 2)).counts).toEqual([0, 0, 10]);
    expect(context.runs.at(-1)?.prompt.exports).toEqual([]);
    expect(store.list()).toEqual([]);
    // A request that asks to be linked is, and leaves what the next may link.
    await answer("naive", 1, 2);
    expect((await answer("naive", 1, 2)).counts).toEqual([7, 0, 3]);
  });

  it("repairs what stands before a missing chunk once, and keeps the repair for the answer", async () => {
    const { answer, store } = await linked();
    await answer("naive", 1, 2, 3);
    const mixed = await answer("attnlink-2", 1, 3, 4, 2);
    // 1 is exact; 3 and 2 lose their first token and 3 its last; 4 is new.
    expect(mixed.counts).toEqual([12 - 2, 2, 2 + 3]);
    expect(store.list().map(({ convention }) => convention)).toEqual(["alone", "seen", "seen", "linked"]);
    expect(mixed.rows.slice(0, 3)).toEqual(mixed.whole.slice(0, 3));
  });

  it("computes a chunk that several requests miss once", async () => {
    const { answer, context } = await linked({ pause: () => new Promise((resolve) => setTimeout(resolve, 5)) });
    const all = await Promise.all([
      answer("naive", 1, 2, 3),
      answer("naive", 1, 2, 3),
      answer("naive", 1, 4),
      answer("naive", 4, 1),
    ]);
    const exported = context.runs.flatMap(({ prompt: { tokens, exports = [] } }) =>
      exports.slice(1).map(({ begin }) => tokens[begin]),
    );
    expect(exported.toSorted()).toEqual([1_000, 2_000, 3_000, 4_000]);
    expect(all[1].rows).toEqual(all[1].whole);
  });

  it("answers all the same when a request that others wait for fails", async () => {
    let failing = true;
    const { answer } = await linked({
      pause: async () => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        if (failing) {
          failing = false;
          throw new Error("no");
        }
      },
    });
    const [first, second] = await Promise.allSettled([answer("naive", 1, 2), answer("naive", 1, 2)]);
    expect([first.status, second.status]).toEqual(["rejected", "fulfilled"]);
  });

  it("goes on from where an earlier prompt of the conversation ended", async () => {
    const { model, context } = await linked({ prefixes: createPrefixCache(10_000) });
    const { chunks, tokens } = promptOf(1, 2);
    const ending = { signal: new AbortController().signal, onProgress: () => undefined, keep: true };
    const askOf =
      (domain: string) =>
      async (name: string, ...turns: number[]) => {
        const turnEnds = turns.map((_, i) => tokens.length + i + 1);
        const prompt = model.keyed({ tokens: Int32Array.of(...tokens, ...turns, 5), chunks, turnEnds }, domain);
        const { linked: reused, recomputed, prefilled } = await model.answer(prompt, policy(name), {}, ending);
        expect(context.runs.at(-1)?.rows).toEqual(context.reference(prompt.tokens));
        return [reused, recomputed, prefilled];
      };
    const ask = askOf("acme/default");
    expect(await ask("naive", 50)).toEqual([0, 0, 12]);
    expect(await ask("naive", 50, 60, 70)).toEqual([11, 0, 3]);
    expect(await ask("naive", 50, 60, 70)).toEqual([13, 0, 1]);
    expect(await ask("naive", 50, 61)).toEqual([11, 0, 2]);
    // Another policy starts without prefixes: only the two chunks are cached; and in full mode
    // nothing is.
    expect(await ask("last-1", 50)).toEqual([7, 0, 5]);
    expect(await ask("full", 50)).toEqual([0, 7, 5]);
    // No other domain links it.
    expect(await askOf("other/default")("naive", 50, 60, 70)).toEqual([0, 0, 14]);
  });

  it("finds in a sharing domain what was left there and what is configured, and nothing else", async () => {
    const { answerOf, store } = await linked();
    const [acme, other] = [answerOf("acme/default", true), answerOf("other/default", true)];
    expect((await acme("naive", 0, 1, 2)).counts).toEqual([0, 0, 12]);
    // Chunk 0 is the arm's own prompt, of two tokens.
    const alone = await other("naive", 0, 1, 2);
    expect(alone.counts).toEqual([2, 0, 10]);
    expect((await other("naive", 0, 1, 2)).counts).toEqual([9, 0, 3]);
    expect((await answerOf("third/default", true)("naive", 1, 2)).counts).toEqual([0, 0, 10]);
    expect(new Set(store.list().map(({ chunk }) => chunk)).size).toBe(1 + 2 * 3);
  });

  it("links and keeps nothing of a request that is kept out of the caches", async () => {
    const { answer, answerOf, store } = await linked({ prefixes: createPrefixCache(10_000) });
    const secret = answerOf("acme/default", false);
    await answer("naive", 1, 2);
    const before = store.list().length;
    for (const name of ["naive", "full"]) {
      const { counts, rows, whole } = await secret(name, 1, 2, 3);
      expect([counts, rows]).toEqual([[0, 0, 15], whole]);
    }
    expect(store.list()).toHaveLength(before);
  });

  it("never counts for a domain what other domains have cached, in any order of requests", async () => {
    const requests = fc.array(
      fc.record({
        domain: fc.constantFrom("a/x", "b/x"),
        numbers: fc.uniqueArray(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 3 }),
      }),
      { maxLength: 8 },
    );
    await fc.assert(
      fc.asyncProperty(requests, async (all) => {
        const together = await linked({ prefixes: createPrefixCache(10_000) });
        const alone = await linked({ prefixes: createPrefixCache(10_000) });
        for (const { domain, numbers } of all) {
          const { counts } = await together.answerOf(domain, true)("naive", ...numbers);
          if (domain === "a/x")
            expect(counts).toEqual((await alone.answerOf(domain, true)("naive", ...numbers)).counts);
        }
      }),
      { numRuns: 50 },
    );
  });

  it("makes the wanted cache of each chunk once in idle time", async () => {
    const { answer, idle, store } = await linked({ convention: "context" });
    const { prompt } = await answer("naive", 1, 2, 3);
    idle.seen(prompt);
    idle.seen(prompt);
    const signal = new AbortController().signal;
    const steps = [await idle.next(signal), await idle.next(signal), await idle.next(signal)];
    expect(steps.map(({ more }) => more)).toEqual([true, false, false]);
    // 2 behind 1 and 3, 3 behind 1 and 2: the first stands for the system prompt.
    expect(madeOf(store, prompt, "context")).toEqual([
      [1, 0, 2],
      [2, 0, 1],
    ]);
    expect(madeOf(store, prompt, "system")).toEqual([]);
  });

  it("makes a second cache of long chunks, so that what stands first needs no repair wherever it was seen", async () => {
    const { answer, idle, store } = await linked({ convention: "context" });
    const { prompt } = await answer("naive", 1, 12, 13, 14);
    const length = 3 + (3 + longTokens);
    const before = await answer("attnlink-2", 1, 13, 12, 14);
    expect(before.rows.slice(3, length)).not.toEqual(before.whole.slice(3, length));
    idle.seen(prompt);
    while ((await idle.next(new AbortController().signal)).more);
    // 12 was seen behind the system prompt alone.
    expect(madeOf(store, prompt, "system")).toEqual([
      [2, 0],
      [3, 0],
    ]);
    const { rows, whole, counts } = await answer("attnlink-2", 1, 13, 12, 14);
    expect(rows.slice(0, length)).toEqual(whole.slice(0, length));
    // One token behind 13, which is exact, and one on each side where 14 follows 12.
    expect(counts[1]).toBe(3);
    idle.seen(prompt);
    expect(await idle.next(new AbortController().signal)).toEqual({ more: false, samples: [] });
  });

  it("is a full prefill under the policy full, and links nothing that does not fit, whatever was asked before", async () => {
    const request = fc.tuple(
      fc.constantFrom("naive", "full", "last-1", "attnlink-2", "last-2+attnlink-3", "prefix-30"),
      fc.uniqueArray(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 }),
    );
    const convention = fc.constantFrom<Convention>("alone", "system", "context", "seen");
    const memory = fc.constantFrom(200, 600, 100_000);
    await fc.assert(
      fc.asyncProperty(
        fc.array(request, { maxLength: 25 }),
        convention,
        memory,
        async (requests, made, memoryBytes) => {
          const { answer, idle } = await linked({ convention: made, memoryBytes });
          for (const [name, numbers] of requests) {
            const { rows, whole, counts, prompt } = await answer(name, ...numbers);
            if (name === "full") expect(rows).toEqual(whole);
            expect(counts.reduce((sum, count) => sum + count, 0)).toBe(prompt.tokens.length);
            expect(Math.min(...counts)).toBeGreaterThanOrEqual(0);
            idle.seen(prompt);
            await idle.next(new AbortController().signal);
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});

/** Caches of a convention as indices in a prompt: of the chunk, then of what it was made behind. */
function madeOf(store: Pick<KvStore, "list">, { chunks }: KeyedPrompt, convention: Convention): number[][] {
  const index = (key: string): number => chunks.findIndex(({ chunk }) => chunk === key);
  const made = store.list().filter((one) => one.convention === convention);
  return made.map(({ chunk, prefix }) => [index(chunk), ...prefix.map((one) => index(one.chunk))]);
}
