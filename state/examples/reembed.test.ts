// Examples of another model, and a pool whose model was changed: found again once embedded, never
// compared before.
import { afterEach, expect, test } from "vitest";
import { createHashEmbedder } from "../../connections/embedder/hash.testing.ts";
import { EmbedderError, type Embedder } from "../../connections/embedder/port.ts";
import { anExample, axis } from "./examples.testing.ts";
import { cleanUp, testFolder, testPool } from "./pool.testing.ts";
import type { ExampleChange, ExamplePool } from "./port.ts";
import type { Example } from "../../schemas/types.ts";

afterEach(cleanUp);

/** A busy machine takes its time. */
const soon = { timeout: 20_000 };

const put = (value: Example): ExampleChange => ({ id: value.id, domain: value.domain, value });
const hash = createHashEmbedder(4);
type Texts = readonly string[];

/** A model that embeds by hash, and can be held up or fail. */
function gated(model: string, embedAll: (texts: Texts) => Promise<unknown> = () => Promise.resolve()) {
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const embedder: Pick<Embedder, "model" | "dimension" | "embedAll"> = {
    model,
    dimension: 4,
    async embedAll(texts) {
      await gate;
      await embedAll(texts);
      return hash.embedAll(texts);
    },
  };
  return { embedder, open };
}
const nearest = async (pool: ExamplePool, text: string): Promise<string[]> =>
  (await pool.nearest("acme/default", await hash.embed(text), 9, 0))
    .filter(({ similarity }) => similarity > 0.999)
    .map(({ example }) => example.id);
const foreign = anExample({ id: "foreign", request: "count the lines", embeddingModel: "other", vector: axis(3) });

test("one that another model embedded is held, not found, and found once it is embedded here", async () => {
  const { embedder, open } = gated("test");
  const pool = await testPool({ embedder });
  expect(await pool.apply(0, [put(foreign), put(anExample({ id: "own", vector: axis(3) }))], 2n)).toEqual([]);
  expect([pool.figures().pending, pool.size(), pool.get("foreign")?.request]).toEqual([1, 2, "count the lines"]);
  expect((await pool.nearest("acme/default", axis(3), 9, 0)).map(({ example }) => example.id)).toEqual(["own"]);
  open();
  await expect.poll(() => pool.figures().pending, soon).toBe(0);
  expect(await nearest(pool, "count the lines")).toEqual(["foreign"]);
  // The same row again, from another partition, changes nothing about it.
  await pool.apply(1, [put(foreign)], 1n);
  expect([pool.figures().pending, await nearest(pool, "count the lines")]).toEqual([0, ["foreign"]]);
});

test("one that went, or changed, while it was being embedded stays as it is now", async () => {
  const { embedder, open } = gated("test");
  const pool = await testPool({ embedder });
  const [gone, changed] = [foreign, anExample({ id: "changed", request: "old text", embeddingModel: "other" })];
  await pool.apply(0, [put(gone), put(changed)], 2n);
  // Given to the embedder already.
  await new Promise(setImmediate);
  await pool.apply(0, [{ ...put(gone), value: null }, put({ ...changed, request: "new text" })], 4n);
  open();
  await expect.poll(() => pool.figures().pending, soon).toBe(0);
  expect([await nearest(pool, "new text"), await nearest(pool, "old text"), pool.size()]).toEqual([["changed"], [], 1]);
});

test("a change of the model embeds everything again, also across another end; with files of indexes, too", async () => {
  const folder = await testFolder();
  const save = { everyMs: 3_600_000, examples: 1, changes: 1 };
  const first = await testPool({ folder, save });
  const texts = Array.from({ length: 70 }, (_, i) => `text number ${i}`);
  await first.apply(
    0,
    texts.map((request, i) => put(anExample({ id: `e${i}`, request, vector: axis(i % 4) }))),
    70n,
  );
  await first.close();

  const held = gated("next");
  const second = await testPool({ folder, save, embedder: held.embedder });
  expect([second.figures().pending, second.size(), second.position(0)]).toEqual([70, 70, 70n]);
  expect(await second.nearest("acme/default", axis(0), 9, 0)).toEqual([]);
  held.open();
  await expect.poll(() => second.figures().pending, soon).toBe(0);
  expect(await nearest(second, "text number 33")).toContain("e33");
  await second.close();

  const third = await testPool({ folder, save, embedder: held.embedder });
  expect([third.figures().pending, third.size(), await nearest(third, "text number 33")]).toEqual([
    0,
    70,
    expect.arrayContaining(["e33"]),
  ]);
});

test("goes on after failures, and leaves out the text that has no vector", async () => {
  let calls = 0;
  const { embedder, open } = gated("test", async (texts) => {
    if (++calls <= 2) throw new EmbedderError("embedder_unavailable", "not yet");
    if (texts.includes("poison")) throw new EmbedderError("not_finite", "NaN");
  });
  open();
  const pool = await testPool({ embedder });
  const poison = anExample({ id: "poison", request: "poison", embeddingModel: "other" });
  await pool.apply(0, [put(foreign), put(poison)], 2n);
  await expect.poll(() => pool.figures().pending, soon).toBe(0);
  expect([await nearest(pool, "count the lines"), pool.get("poison"), pool.size()]).toEqual([
    ["foreign"],
    undefined,
    1,
  ]);
});
