// What a pool finds when it is opened again: everything, the difference, or nothing at all, with
// the reason said.
import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, describe, expect, test } from "vitest";
import type { Example } from "../../schemas/types.ts";
import { createExactIndexes } from "../vectors/exact.ts";
import type { VectorIndexes } from "../vectors/port.ts";
import { identify } from "../../connections/process/identity.ts";
import { anExample, axis } from "./examples.testing.ts";
import { cleanUp, copyAsKilled, testFolder, testPool } from "./pool.testing.ts";
import type { ExampleChange, ExamplePool } from "./port.ts";

afterEach(cleanUp);

/** A busy machine takes its time. */
const soon = { timeout: 20_000 };

const put = (value: Example): ExampleChange => ({ id: value.id, domain: value.domain, value });
const gone = ({ id, domain }: Example): ExampleChange => ({ id, domain, value: null });
const found = async (pool: ExamplePool, domain = "acme/default"): Promise<string[]> =>
  (await pool.nearest(domain, axis(0), 99, 0)).map(({ example }) => example.id).sort();
const three = ["a", "b", "c"].map((id, i) => anExample({ id, request: `the question of ${id}`, vector: axis(i) }));
const [a, b, c] = three as [Example, Example, Example];
const messages = (): { log: pino.Logger; lines: string[] } => {
  const lines: string[] = [];
  return { log: pino({ level: "info" }, { write: (line) => void lines.push(line) }), lines };
};
const saved = { save: { everyMs: 3_600_000, examples: 1, changes: 1 } };

test("examples, offsets and memberships are there again; what was only written ahead is not", async () => {
  const folder = await testFolder();
  const pool = await testPool({ folder });
  await pool.apply(0, [put(a), put(b)], 7n);
  await pool.apply(1, [put(a)], 3n);
  await pool.upsert([c]);
  for (const path of [await copyAsKilled(folder), (await pool.close(), folder)]) {
    const again = await testPool({ folder: path });
    expect([again.position(0), again.position(1), again.position(2)]).toEqual([7n, 3n, null]);
    expect([await found(again), again.size()]).toEqual([["a", "b"], 2]);
    expect(again.get("a")).toMatchObject({ request: a.request, quality: 1, source: a.source });
    await again.release(0);
    expect(await found(again)).toEqual(["a"]);
  }
});

test("an index comes from its file, and only what changed since is added", async () => {
  const folder = await testFolder();
  const first = await testPool({ folder, ...saved });
  await first.apply(0, [put(a), put(b)], 2n);
  await first.close();
  expect((await readdir(folder)).filter((name) => name.endsWith(".index"))).toEqual(["domain-0.index"]);

  const added: number[][] = [];
  const watched = async (): Promise<VectorIndexes> => {
    const indexes = createExactIndexes(4);
    return {
      ...indexes,
      async restore(file) {
        const { index, note } = await indexes.restore(file);
        return { index: { ...index, add: (keys, rows) => (added.push([...keys]), index.add(keys, rows)) }, note };
      },
    };
  };
  const second = await testPool({ folder, ...saved, openIndexes: watched });
  expect(added).toEqual([]);
  await second.apply(0, [gone(a), put(c)], 4n);
  // The file of `first` and the journal of `second`.
  const third = await testPool({ folder: await copyAsKilled(folder), ...saved, openIndexes: watched });
  expect(await found(third)).toEqual(["b", "c"]);
  expect(added.flat().length).toBe(2);
});

test("an index file that was changed, is missing, or is of another pool is refused, and the index is built", async () => {
  const folder = await testFolder();
  const first = await testPool({ folder, ...saved });
  await first.apply(0, [put(a), put(b)], 2n);
  await first.close();
  const file = join(folder, "domain-0.index");
  const bytes = await readFile(file);
  const foreign = await testFolder();
  const other = await testPool({ folder: foreign, ...saved });
  await other.apply(0, [put(a), put(c)], 2n);
  await other.close();
  const flipped = Buffer.from(bytes);
  flipped[bytes.length - 40]! ^= 4;
  for (const content of [
    flipped,
    bytes.subarray(0, 50),
    Buffer.alloc(0),
    await readFile(join(foreign, "domain-0.index")),
  ]) {
    await writeFile(file, content);
    const { log, lines } = messages();
    const pool = await testPool({ folder, ...saved, log });
    expect(await found(pool)).toEqual(["a", "b"]);
    expect(lines.join()).toMatch(/file of a vector index is refused/);
    await pool.close();
  }
});

describe("a snapshot is refused, with the reason, and the topic read anew", () => {
  const now = 1_800_000_000_000;
  const day = 86_400_000;
  const make = async (): Promise<string> => {
    const folder = await testFolder();
    const pool = await testPool({ folder, clock: () => now });
    await pool.apply(0, [put(a)], 5n);
    await pool.close();
    return folder;
  };
  test.each([
    ["another cluster", { clusterId: "foreign" }, /belongs to the Kafka cluster cluster, this is foreign/],
    ["too old", { clock: () => now + 2 * day }, /last followed 2880 minutes ago, tombstones are kept for 1440/],
  ])("%s", async (_, options, reason) => {
    const { log, lines } = messages();
    const folder = await make();
    const pool = await testPool({ folder, clock: () => now, ...options, log });
    expect([pool.position(0), pool.size(), await found(pool)]).toEqual([null, 0, []]);
    expect(lines.join()).toMatch(reason);
    await pool.apply(0, [put(b)], 6n);
    expect(await found(pool)).toEqual(["b"]);
  });

  test("damaged beyond reading", async () => {
    const folder = await make();
    const file = join(folder, "store", "data.mdb");
    await writeFile(file, Buffer.alloc((await readFile(file)).length, 0x5a));
    const { log, lines } = messages();
    const pool = await testPool({ folder, clock: () => now, log });
    expect([pool.position(0), pool.size()]).toEqual([null, 0]);
    expect(lines.join()).toMatch(/snapshot of the examples is refused/);
  });

  test("one that processes died of", async () => {
    const folder = await make();
    await writeFile(join(folder, "opening"), "3");
    const { log, lines } = messages();
    expect((await testPool({ folder, clock: () => now, log })).position(0)).toBeNull();
    expect(lines.join()).toMatch(/3 processes died while they opened it/);
  });

  test("only the partition that no process followed for too long", async () => {
    let time = now;
    const folder = await testFolder();
    const first = await testPool({ folder, clock: () => time });
    await first.apply(0, [put(a)], 5n);
    await first.apply(1, [put(b)], 5n);
    await first.close();
    time += 0.9 * day;
    const second = await testPool({ folder, clock: () => time });
    expect(second.position(1)).toBe(5n);
    await second.close();
    time += 0.9 * day;
    const third = await testPool({ folder, clock: () => time });
    expect([third.position(0), third.position(1), await found(third)]).toEqual([null, 5n, ["b"]]);
  });
});

/** Flips a bit of every occurrence of `what` in the store. */
async function flip(folder: string, what: Buffer): Promise<void> {
  const file = join(folder, "store", "data.mdb");
  const bytes = await readFile(file);
  let flips = 0;
  for (let at = bytes.indexOf(what); at >= 0; at = bytes.indexOf(what, at + what.length), flips++)
    bytes[at + what.length - 1]! ^= 1;
  expect(flips).toBeGreaterThan(0);
  await writeFile(file, bytes);
}

test.each([
  ["text", Buffer.from(b.request)],
  // Halves of (0, 1, 0, 0).
  ["vector", Buffer.from([0, 0, 0, 0x3c, 0, 0, 0, 0])],
])("a flipped bit in a %s: left out, said, counted, and its partition read anew at the next start", async (_, what) => {
  const folder = await testFolder();
  const first = await testPool({ folder });
  await first.apply(0, [put(a)], 1n);
  await first.apply(1, [put(b)], 1n);
  await first.close();
  await flip(folder, what);
  const { log, lines } = messages();
  const second = await testPool({ folder, log });
  // Said when it is taken out for good; the figure is raised within the transaction that does so.
  await expect.poll(() => lines.join(), soon).toMatch(/a record of an example is damaged/);
  expect([await found(second), second.get("b"), second.size()]).toEqual([["a"], undefined, 1]);
  expect(second.figures().damaged).toBe(1);
  await second.close();
  const third = await testPool({ folder });
  expect([third.position(0), third.position(1), await found(third)]).toEqual([1n, null, ["a"]]);
  await third.apply(1, [put(b)], 1n);
  expect(await found(third)).toEqual(["a", "b"]);
});

test("a flipped bit in who holds an example: the store is made anew at the next start", async () => {
  const folder = await testFolder();
  const first = await testPool({ folder });
  await first.apply(0, [put(anExample({ id: "an-id-to-be-found" }))], 1n);
  await first.close();
  await flip(folder, Buffer.from("an-id-to-be-found"));
  const second = await testPool({ folder });
  await expect.poll(() => second.figures().damaged, soon).toBeGreaterThan(0);
  await second.close();
  expect((await testPool({ folder })).position(0)).toBeNull();
});

test("a folder has one owner at a time", async () => {
  const folder = await testFolder();
  const pool = await testPool({ folder });
  await expect(testPool({ folder })).rejects.toMatchObject({ code: "folder_in_use" });
  await pool.close();
  await testPool({ folder });
  // What a dead process left behind, or one whose pid another has now.
  for (const left of [{ pid: 2 ** 22 + 1, started: "1" }, { pid: process.ppid, started: "1" }, "nonsense"]) {
    const taken = await testFolder();
    await writeFile(join(taken, "owner"), JSON.stringify(left));
    await testPool({ folder: taken });
  }
});

test("after a reboot a living process with the owner's pid and start time is not the owner", async () => {
  const stranger = identify(process.ppid)!;
  const folder = await testFolder();
  const owner = (started: string) => writeFile(join(folder, "owner"), JSON.stringify({ ...stranger, started }));
  await owner(stranger.started);
  await expect(testPool({ folder })).rejects.toMatchObject({ code: "folder_in_use" });
  await owner(stranger.started.replace(/@.*/, "@the-boot-before"));
  await testPool({ folder });
});
