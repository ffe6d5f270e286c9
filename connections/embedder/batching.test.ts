import fc from "fast-check";
import { expect, test } from "vitest";
import { createBatchingEmbedder, type BatchingOptions } from "./batching.ts";
import { EmbedderError } from "./port.ts";

/** A model of two dimensions that says what it was asked: [length of the text, 1]. */
const lengths = async (texts: readonly string[]): Promise<Float32Array> =>
  Float32Array.from(texts.flatMap((text) => [text.length, 1]));

function create(options: Partial<BatchingOptions> = {}) {
  const batches: string[][] = [];
  const run = options.run ?? lengths;
  const embedder = createBatchingEmbedder({
    model: "test",
    dimension: 2,
    maxBatch: 4,
    cacheEntries: 100,
    close: async () => undefined,
    ...options,
    run: (texts) => (batches.push([...texts]), run(texts)),
  });
  return { embedder, batches };
}
const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "none",
    (error: unknown) => (error instanceof EmbedderError ? error.code : error),
  );

test("every text gets its own vector, in batches no larger than allowed", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ maxLength: 30 }), { maxLength: 60 }),
      fc.integer({ min: 1, max: 9 }),
      async (texts, maxBatch) => {
        const { embedder, batches } = create({ maxBatch });
        const one = await Promise.all(texts.map((text) => embedder.embed(text)));
        const all = await embedder.embedAll(texts.map((text) => `${text}!`));
        expect(one.map((vector) => vector[0])).toEqual(texts.map((text) => text.length));
        expect(all.map((vector) => vector[0])).toEqual(texts.map((text) => text.length + 1));
        expect(batches.every((batch) => batch.length >= 1 && batch.length <= maxBatch)).toBe(true);
      },
    ),
    { numRuns: 50 },
  );
});

test("texts of requests go in their order, many of the background by length, the longest first", async () => {
  const requests = create({ maxBatch: 2 });
  await Promise.all(["aaaaaaaa", "b", "cccccccc2", "dd"].map((text) => requests.embedder.embed(text)));
  expect(requests.batches).toEqual([
    ["aaaaaaaa", "b"],
    ["cccccccc2", "dd"],
  ]);
  const texts = ["aaaaaaa", "b", "ccccccccc", "dd"];
  const background = create({ maxBatch: 2 });
  const vectors = await background.embedder.embedAll(texts);
  expect(vectors.map((vector) => vector[0])).toEqual(texts.map((text) => text.length));
  expect(background.batches).toEqual([
    ["ccccccccc", "aaaaaaa"],
    ["dd", "b"],
  ]);
});

test("the same text is computed once, at the same time and later", async () => {
  const { embedder, batches } = create();
  await Promise.all([embedder.embed("x"), embedder.embed("x")]);
  await embedder.embed("x");
  expect(batches).toEqual([["x"]]);
});

test("nothing is kept without a cache, and what failed is tried again", async () => {
  const { embedder, batches } = create({ cacheEntries: 0 });
  await embedder.embed("x");
  await embedder.embed("x");
  expect(batches.length).toBe(2);

  let calls = 0;
  const flaky = create({ run: (texts) => (++calls === 1 ? Promise.reject(new Error("once")) : lengths(texts)) });
  await expect(flaky.embedder.embed("y")).rejects.toThrow("once");
  expect((await flaky.embedder.embed("y"))[0]).toBe(1);
});

test("NaN and infinity are refused, for that text alone", async () => {
  const { embedder } = create({
    run: async (texts) =>
      Float32Array.from(texts.flatMap((text) => [text === "nan" ? NaN : text === "inf" ? Infinity : 1, 0])),
  });
  expect(await Promise.all(["nan", "fine", "inf"].map((text) => codeOf(embedder.embed(text))))).toEqual([
    "not_finite",
    "none",
    "not_finite",
  ]);
});

test("a batch of the wrong size and a closed embedder are embedder_unavailable, a full queue is embedder_busy at once", async () => {
  expect(await codeOf(create({ run: async () => new Float32Array(1) }).embedder.embed("x"))).toBe(
    "embedder_unavailable",
  );

  const hanging = create({ run: () => new Promise(() => undefined), maxWaiting: 1, maxBatch: 1 }).embedder;
  void codeOf(hanging.embed("a"));
  await new Promise((resolve) => setTimeout(resolve, 10));
  const waiting = codeOf(hanging.embed("b"));
  expect(await codeOf(hanging.embed("c"))).toBe("embedder_busy");
  expect(hanging.figures()).toEqual({ waiting: 1, background: 0, computed: 0, cached: 0, refused: 1 });
  await hanging.close();
  expect(await waiting).toBe("embedder_unavailable");
  expect(await codeOf(hanging.embed("d"))).toBe("embedder_unavailable");
});

test("an aborted caller stops waiting; others who asked the same still get it", async () => {
  let release: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (release = resolve));
  const { embedder } = create({ run: (texts) => gate.then(() => lengths(texts)) });
  const controller = new AbortController();
  const impatient = embedder.embed("abc", controller.signal);
  const patient = embedder.embed("abc");
  controller.abort(new Error("deadline"));
  await expect(impatient).rejects.toThrow("deadline");
  release();
  expect((await patient)[0]).toBe(3);
});

/** An embedder whose model does nothing until opened. */
function gated(options: Partial<BatchingOptions> = {}) {
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  return { ...create({ ...options, run: (texts) => gate.then(() => lengths(texts)) }), open };
}
const aTurn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

test("texts without a waiting caller are not computed", async () => {
  const { embedder, batches, open } = gated({ maxBatch: 1 });
  const first = embedder.embed("first");
  await aTurn();
  const [gone, shared] = [new AbortController(), new AbortController()];
  const left = codeOf(embedder.embed("left", gone.signal));
  const leaver = codeOf(embedder.embed("wanted", shared.signal));
  const wanted = embedder.embed("wanted");
  expect(embedder.figures().waiting).toBe(2);
  gone.abort(new Error("deadline"));
  shared.abort(new Error("deadline"));
  await Promise.all([left, leaver]);
  expect(embedder.figures().waiting).toBe(1);
  open();
  await Promise.all([first, wanted]);
  expect(batches).toEqual([["first"], ["wanted"]]);
  expect((await embedder.embed("left"))[0]).toBe(4);
});

test("requests go before the background, which is computed all the same", async () => {
  const { embedder, batches, open } = gated({ maxBatch: 4 });
  const slow = embedder.embedAll(Array.from({ length: 30 }, (_, i) => `b${i}`));
  await aTurn();
  const requests = Array.from({ length: 100 }, (_, i) => embedder.embed(`r${i}`));
  // Asked by a request, too, it has no time any more.
  const promoted = embedder.embed("b15");
  open();
  await Promise.all([slow, promoted, ...requests]);
  const kinds = batches.map((batch) => [...new Set(batch.map((text) => (text === "b15" ? "r" : text[0])))].join());
  // The one that was under way; then requests, and one in sixteen for the others, small.
  expect(kinds[0]).toBe("b");
  expect(kinds.slice(1, 15).every((kind) => kind === "r")).toBe(true);
  expect([kinds[15], batches[15]?.length]).toEqual(["b", 1]);
  const lastRequest = kinds.lastIndexOf("r");
  expect(kinds.slice(lastRequest + 1).every((kind) => kind === "b")).toBe(true);
  expect(embedder.figures()).toEqual({ waiting: 0, background: 0, computed: 130, cached: 0, refused: 0 });
});

test("the background is not bounded by the requests' queue", async () => {
  const { embedder } = create({ maxWaiting: 1 });
  expect((await embedder.embedAll(["a", "bb", "ccc"])).map((vector) => vector[0])).toEqual([1, 2, 3]);
});

test("progress is reported for every text", async () => {
  const seen: number[] = [];
  await create().embedder.embedAll(["a", "bb", "a"], (done) => seen.push(done));
  expect(seen).toEqual([1, 2, 3]);
});

test("so many batches at a time as can be computed side by side, and never more", async () => {
  let [now, most] = [0, 0];
  const { embedder } = create({
    maxBatch: 2,
    atOnce: 3,
    run: async (texts) => {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setTimeout(resolve, 5));
      now--;
      return lengths(texts);
    },
  });
  const texts = Array.from({ length: 30 }, (_, i) => "x".repeat(i + 1));
  expect((await embedder.embedAll(texts)).map((vector) => vector[0])).toEqual(texts.map((text) => text.length));
  expect(most).toBe(3);
});
