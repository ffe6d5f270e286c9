import { createHash } from "node:crypto";
import { createServer, type Server, type Socket } from "node:net";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openMilvus } from "./collection.ts";
import { startLite } from "./lite.testing.ts";
import { MilvusError, type MilvusCollection, type MilvusRow } from "./port.ts";

const digest = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 32);
const never = Number.MAX_SAFE_INTEGER;
const soon = { timeoutMs: 10_000, strong: true };
const row = (name: string, over: Partial<MilvusRow> = {}): MilvusRow => ({
  ...{ key: digest(name), group: digest("g"), generation: 1, expiresAt: never, stamp: 7, text: name },
  vector: Float32Array.of(1, 0, 0, 0),
  ...over,
});
const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "none",
    (error: unknown) => (error instanceof MilvusError ? error.code : error),
  );

test("a server that is not there, and one that never answers, cost no more than the bound", async () => {
  const silent: Server = createServer().listen(0, "127.0.0.1");
  const sockets: Socket[] = [];
  silent.on("connection", (socket) => sockets.push(socket));
  await once(silent, "listening");
  const { port } = silent.address() as { port: number };
  for (const address of [`127.0.0.1:${port}`, "127.0.0.1:1"]) {
    const away = openMilvus({ address, token: "", database: "default", collection: "examples" });
    const query = { group: digest("g"), generation: 1, now: 0, vector: Float32Array.of(1, 0), k: 3 };
    expect(await codeOf(away.search(query, { timeoutMs: 50 }))).toBe("unavailable");
    expect(await codeOf(away.read([digest("a")], { timeoutMs: 50 }))).toBe("unavailable");
    await away.close();
    expect(await codeOf(away.search(query, { timeoutMs: 50 }))).toBe("unavailable");
  }
  for (const socket of sockets) socket.destroy();
  silent.close();
});

test("nothing but digests and integers gets into an expression", async () => {
  const away = openMilvus({ address: "127.0.0.1:1", token: "", database: "default", collection: "examples" });
  const hostile = ['" || "" == "', 'a"]', "\\", "a b", "", "A".repeat(32), `${"a".repeat(32)}\n`, "’".repeat(32)];
  const vector = Float32Array.of(1);
  for (const text of hostile) {
    await expect(away.read([digest("a"), text], soon)).rejects.toThrow(RangeError);
    await expect(away.remove([text])).rejects.toThrow(RangeError);
    await expect(away.upsert([row("a", { group: text })])).rejects.toThrow(RangeError);
    await expect(away.search({ group: text, generation: 1, now: 0, vector, k: 1 }, soon)).rejects.toThrow(RangeError);
  }
  for (const number of [NaN, Infinity, 0.5, 2 ** 53])
    await expect(away.search({ group: digest("g"), generation: 1, now: number, vector, k: 1 }, soon)).rejects.toThrow(
      RangeError,
    );
  await away.close();
});

const lite = await startLite();
describe.skipIf("reason" in lite)(
  `on milvus-lite${"reason" in lite ? ` (${lite.reason})` : ""}`,
  { timeout: 120_000 },
  () => {
    if ("reason" in lite) return;
    let examples: MilvusCollection;
    beforeAll(() => {
      examples = openMilvus({ address: lite.address, token: "", database: "default", collection: "examples" });
    });
    afterAll(async () => {
      await examples.close();
      await lite.stop();
    });
    const found = async (query: Partial<Parameters<MilvusCollection["search"]>[0]> = {}): Promise<string[]> => {
      const whole = { group: digest("g"), generation: 1, now: 1_000, vector: Float32Array.of(1, 0, 0, 0), k: 10 };
      const hits = await examples.search({ ...whole, ...query }, soon);
      const rows = await examples.read(
        hits.map(({ key }) => key),
        soon,
      );
      return hits.map(({ key }) => rows.find((one) => one.key === key)?.text ?? "?");
    };

    test("made once, described, and missing before", async () => {
      expect((await examples.facts()).collection).toBeNull();
      expect(await codeOf(examples.search({ group: digest("g"), generation: 1, now: 0, vector: Float32Array.of(1, 0, 0, 0), k: 1 }, soon))).not.toBe("none"); // prettier-ignore
      await examples.create(4);
      await examples.create(4);
      expect(await examples.facts()).toMatchObject({ collection: { dimension: 4, rows: 0 } });
    });

    test("the nearest of a group and a generation that have not expired, nearest first", async () => {
      await examples.upsert([
        row("far", { vector: Float32Array.of(0, 1, 0, 0) }),
        row("near", { vector: Float32Array.of(0.8, 0.6, 0, 0) }),
        row("exact"),
        row("foreign", { group: digest("other") }),
        row("former", { generation: 0 }),
        row("expired", { expiresAt: 1_000 }),
        row("lasting", { expiresAt: 1_001, vector: Float32Array.of(0.6, 0.8, 0, 0) }),
      ]);
      expect(await found()).toEqual(["exact", "near", "lasting", "far"]);
      expect(await found({ k: 2 })).toEqual(["exact", "near"]);
      expect(await found({ k: 0 })).toEqual([]);
      expect(await found({ group: digest("other") })).toEqual(["foreign"]);
      expect(await found({ group: digest("no one's") })).toEqual([]);
    });

    test("writes are idempotent; a removal of what is not there is none", async () => {
      await examples.upsert([row("exact", { text: "changed", stamp: 8 })]);
      await examples.upsert([row("exact", { text: "changed", stamp: 8 })]);
      expect((await found()).filter((text) => text === "changed")).toHaveLength(1);
      await examples.remove([digest("exact"), digest("unknown")]);
      await examples.remove([digest("exact")]);
      expect(await found()).toEqual(["near", "lasting", "far"]);
    });

    test("texts come back as they were: quotes, braces, line ends, other scripts, the longest", async () => {
      const texts = [`"'\`\\ {x} %s\n\r\t`, "日本 🙂 \u0001", "x".repeat(65_535)];
      await examples.upsert(texts.map((text, i) => row(`text ${i}`, { text })));
      const rows = await examples.read(
        texts.map((_, i) => digest(`text ${i}`)),
        soon,
      );
      expect(rows.map(({ text }) => text).sort()).toEqual([...texts].sort());
      expect(rows[0]).toMatchObject({ generation: 1, expiresAt: never, stamp: 7, group: digest("g") });
      expect(rows[0]?.vector).toEqual(Float32Array.of(1, 0, 0, 0));
    });

    test("more rows and keys than one message takes", async () => {
      const names = Array.from({ length: 600 }, (_, i) => `many ${i}`);
      await examples.upsert(names.map((name) => row(name, { group: digest("many") })));
      expect(await found({ group: digest("many"), k: 1_000 })).toHaveLength(600);
      await examples.remove(names.map(digest));
      expect(await found({ group: digest("many"), k: 1_000 })).toEqual([]);
    });

    test("a killed server costs no more than the bound, and is found again with what it acknowledged", async () => {
      const before = await found();
      await lite.kill();
      expect(await codeOf(examples.search({ group: digest("g"), generation: 1, now: 0, vector: Float32Array.of(1, 0, 0, 0), k: 1 }, { timeoutMs: 100 }))).toBe("unavailable"); // prettier-ignore
      await lite.start();
      await expect.poll(() => found().catch(() => []), { timeout: 60_000 }).toEqual(before);
    });
  },
);
