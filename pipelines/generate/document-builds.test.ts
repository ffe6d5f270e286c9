import { pino } from "pino";
import { expect, it } from "vitest";
import { pieceName } from "../../algorithms/identity/identity.ts";
import { armSchema, type LlamaArmConfig } from "../../config/schema.ts";
import type { Document } from "../../schemas/types.ts";
import { followDocumentBuilds } from "./document-builds.ts";

const arm = armSchema.parse({ name: "small", type: "llama", system: "Be brief." }) as LlamaArmConfig;
const aDocument = (id: string, more: Partial<Document> = {}): Document => ({
  ...{ tenant: "acme", id, title: null, text: `${id} one. ${id} two.`, expiresAt: null, createdAt: 1 },
  ...more,
});

/** put: as the topic has it; null removes it. */
function following(
  clock = () => 1_000,
  most?: number,
): {
  put: (key: string, value: Document | null) => Promise<void>;
  builds: ReturnType<typeof open>;
  /** Texts that were split. */
  splits: string[];
} {
  let apply: Parameters<Parameters<typeof followDocumentBuilds>[0]["kafka"]["readTopic"]>[1] = () => undefined;
  const held = new Map<string, Document>();
  const splits: string[] = [];
  const open = (): ReturnType<typeof followDocumentBuilds> =>
    followDocumentBuilds(
      {
        config: { documents: { split: "meaning", chunkTokens: 64 } },
        kafka: {
          readTopic(_topic: string, onRecords: typeof apply) {
            apply = onRecords;
            return { caughtUp: Promise.resolve(), stop: () => Promise.resolve() };
          },
        },
        codec: { decode: (_record: string, value: Buffer) => ({ ok: true, value: held.get(String(value)) }) },
        text: {
          async split(text: string) {
            splits.push(text);
            if (text.includes("endless")) throw new Error("too long");
            return text.split(/(?<=\.) /);
          },
        },
        topic: (name: string) => name,
      } as unknown as Parameters<typeof followDocumentBuilds>[0],
      { arm, log: pino({ level: "silent" }), clock, ...(most !== undefined && { most }) },
    );
  const builds = open();
  return {
    ...{ builds, splits },
    async put(key, value) {
      if (value !== null) held.set(key, value);
      await apply([{ key: Buffer.from(key), value: value && Buffer.from(key), offset: "0" }] as never, 0);
    },
  };
}

it("gives each document as a prompt of its pieces, the oldest first, until it is done", async () => {
  const { builds, put } = following();
  expect(await builds.next()).toBeNull();
  await put("a", aDocument("a"));
  await put("b", aDocument("b"));
  const first = await builds.next();
  expect(first).toMatchObject({ domain: "acme/default" });
  expect(first?.pieces.map(({ kind, text }) => [kind, text])).toEqual([
    ["system", "Be brief."],
    ["document", "a one."],
    ["document", "a two."],
    ["turn", "a"],
  ]);
  expect((await builds.next())?.pieces.at(-1)?.text).toBe("a");
  first?.done();
  expect((await builds.next())?.pieces.at(-1)?.text).toBe("b");
});

it("splits each text once, and leaves out what can't be split", async () => {
  const { builds, put, splits } = following();
  await put("acme/endless", aDocument("endless"));
  await put("acme/a", aDocument("a"));
  await put("acme/b", aDocument("b"));
  await put("acme/a", aDocument("a", { text: "a three." }));
  const built = [];
  for (let one = await builds.next(); one !== null; one = await builds.next()) {
    built.push(one.pieces.at(-1)?.text);
    await builds.next();
    one.done();
  }
  expect(built).toEqual(["b", "a"]);
  expect(splits).toEqual(["endless one. endless two.", "a one. a two.", "b one. b two.", "a three."]);
});

it("leaves out what is gone, expired or too long, and gives again what changed meanwhile", async () => {
  const { builds, put } = following();
  await put("expired", aDocument("expired", { expiresAt: 1_000 }));
  await put("long", aDocument("long", { text: "x".repeat(33 * 1_048_576) }));
  await put("titled", aDocument("titled", { title: "x".repeat(33 * 1_048_576) }));
  await put("gone", aDocument("gone"));
  await put("gone", null);
  await put("a", aDocument("a"));
  const first = await builds.next();
  await put("a", aDocument("a", { text: "a three." }));
  first?.done();
  const again = await builds.next();
  expect(again?.pieces.map(({ text }) => text)).toContain("a three.");
  again?.done();
  expect(await builds.next()).toBeNull();
});

it("keeps a bound of documents however short they are", async () => {
  const { builds, put } = following(undefined, 2 ** 20);
  let given = 0;
  for (let i = 0; i < 3_000; i++) await put(`d${i}`, aDocument(`d${i}`, { text: "x" }));
  for (let one = await builds.next(); one !== null; one = await builds.next()) {
    given++;
    one.done();
  }
  // An entry counts 512 characters besides its few.
  expect(given).toBeGreaterThan(1_900);
  expect(given).toBeLessThan(2_048);
});

it("knows which pieces are of no document on the topic, or of a former text", async () => {
  const { builds, put } = following();
  const [one, two, three] = ["a one.", "a two.", "a three."].map((text) => pieceName("acme/a", text));
  expect(builds.gone([one!])).toBeNull();
  await Promise.resolve();
  await put("acme/a", aDocument("a", { text: "a one. a two." }));
  await put("acme/b", aDocument("b", { expiresAt: 1_000 }));
  await put("acme/c", aDocument("c"));
  await put("acme/c", null);
  expect(builds.gone([one!, two!])).toEqual([]);
  const others = ["b", "c", "d"].map((id) => pieceName(`acme/${id}`, `${id} one.`));
  expect(builds.gone(others)).toEqual(others.slice(1));
  await put("acme/a", aDocument("a", { text: "a one. a three." }));
  expect(builds.gone([one!, two!, three!])).toEqual([two]);
  // Prompts have the title before the first piece.
  await put("acme/a", aDocument("a", { title: "A", text: "a one. a three." }));
  expect(builds.gone([one!, two!, three!, pieceName("acme/a", "A\n\na one.")])).toEqual([one, two]);
});

it("looks for former texts for a while: plan may have cut a document in another way", async () => {
  let now = 1_000;
  const { builds, put } = following(() => now);
  await Promise.resolve();
  await put("acme/a", aDocument("a"));
  const former = [pieceName("acme/a", "cut at lengths")];
  now += 599_999;
  expect(builds.gone(former)).toEqual(former);
  now += 1;
  expect(builds.gone(former)).toEqual([]);
  await put("acme/a", null);
  expect(builds.gone(former)).toEqual(former);
});
