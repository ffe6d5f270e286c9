// The slow tier, a folder a format: <key>.kv is only replaced whole (written aside, fsync, rename),
// so kills and sharing are safe. Beside it <key>.pin, <key>.expires (ms), ids/<hash>, and `values`.
import { createHash, randomBytes } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { jsonOf } from "../../algorithms/text/json-shape.ts";
import { messageOf, isMissing } from "../errors.ts";
import { identify } from "../process/identity.ts";
import type { ReuseValue } from "../../algorithms/linked-prefill/reuse-value.ts";
import { encodeFile, preambleBytes, type Read, readFileBytes, readHeader, readPreamble } from "./file.ts";
import { isKey } from "./keys.ts";
import type { KvEntry } from "./port.ts";

export interface DiskTier {
  readonly folder: string;
  /** Usable entries except known ones. Bad ones are removed, each problem reported once. */
  scan(
    isKnown?: (key: string) => boolean,
  ): Promise<{ entries: KvEntry[]; refused: { file: string; reason: string }[] }>;
  /** What is said of entries beside them. */
  marks(): Promise<Marks>;
  write(entry: KvEntry, blob: Uint8Array): Promise<void>;
  /** undefined: no such file. A file that is no good is removed. */
  read(key: string): Promise<Read<{ entry: KvEntry; blob: Uint8Array }> | undefined>;
  remove(key: string): Promise<void>;
  /** null takes the mark away. */
  mark(key: string, kind: MarkKind, text: string | null): Promise<void>;
  name(id: string, key: string | null): Promise<void>;
  readValues(): Promise<Map<string, ReuseValue>>;
  writeValues(values: ReadonlyMap<string, ReuseValue>): Promise<void>;
}

/** The formats that a root has folders of. */
export async function formatsIn(root: string): Promise<string[]> {
  return ((await orMissing(readdir(root))) ?? []).filter(isKey);
}

export type MarkKind = "pin" | "expires";

export interface Marks {
  keys: Set<string>;
  pinned: Set<string>;
  expires: Map<string, number>;
  ids: Map<string, string>;
}

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);
const orMissing = <T>(work: Promise<T>): Promise<T | undefined> =>
  work.catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });

/** A pid may come again, in a container with each start. */
const ownFiles = `writing-${process.pid}-${randomBytes(6).toString("hex")}-`;

let written = 0;

export async function openDisk(root: string, format: string): Promise<DiskTier> {
  const folder = join(root, format);
  const idFolder = join(folder, "ids");
  await mkdir(idFolder, { recursive: true });
  const path = (key: string, kind: MarkKind | "kv" = "kv"): string => join(folder, `${key}.${kind}`);
  const unreadable = new Set<string>();

  async function writeWhole(to: string, parts: readonly Uint8Array[]): Promise<void> {
    const temporary = join(folder, `${ownFiles}${written++}`);
    const file = await open(temporary, "wx");
    try {
      for (const part of parts) await file.writeFile(part);
      await file.sync();
    } catch (error) {
      await file.close();
      await rm(temporary, { force: true });
      throw error;
    }
    await file.close();
    await rename(temporary, to);
    const directory = await open(folder, "r");
    await directory.sync().finally(() => directory.close());
  }

  async function header(key: string): Promise<Read<KvEntry>> {
    const file = await open(path(key), "r");
    try {
      const preamble = Buffer.alloc(preambleBytes);
      const { bytesRead } = await file.read(preamble, 0, preambleBytes, 0);
      const lengths = readPreamble(preamble.subarray(0, bytesRead));
      if (!lengths.ok) return lengths;
      const { headerBytes, fileBytes } = lengths.value;
      const { size } = await file.stat();
      if (size !== fileBytes) return { ok: false, reason: `it has ${size} bytes and should have ${fileBytes}` };
      const bytes = Buffer.alloc(headerBytes);
      await file.read(bytes, 0, headerBytes, preambleBytes);
      return readHeader(bytes, format, key);
    } finally {
      await file.close();
    }
  }

  async function remove(key: string): Promise<void> {
    // The blob first: an interrupted removal leaves only marks without a blob.
    for (const kind of ["kv", "pin", "expires"] as const) await rm(path(key, kind), { force: true });
  }

  const readMark = async (key: string, kind: MarkKind): Promise<string | undefined> =>
    orMissing(readFile(path(key, kind), "utf8"));

  return {
    folder,
    async scan(isKnown = () => false) {
      const entries: KvEntry[] = [];
      const refused: { file: string; reason: string }[] = [];
      for (const file of await readdir(folder)) {
        const [, pid] = /^writing-(\d+)-/.exec(file) ?? [];
        const isLeft = Number(pid) === process.pid ? !file.startsWith(ownFiles) : identify(Number(pid)) === undefined;
        if (pid !== undefined && isLeft) await rm(join(folder, file), { force: true });
        const key = file.slice(0, -".kv".length);
        if (!file.endsWith(".kv") || !isKey(key) || isKnown(key)) continue;
        const read = await orMissing(header(key)).catch((error: unknown) => ({ unreadable: messageOf(error) }));
        if (read === undefined) continue;
        if ("unreadable" in read) {
          if (!unreadable.has(key)) refused.push({ file, reason: read.unreadable });
          unreadable.add(key);
        } else if (read.ok) entries.push(read.value);
        else {
          refused.push({ file, reason: read.reason });
          await remove(key);
        }
      }
      return { entries: entries.sort((a, b) => a.createdAt - b.createdAt), refused };
    },
    async marks() {
      // It may have been removed under a running arm.
      await mkdir(idFolder, { recursive: true });
      const marks: Marks = { keys: new Set(), pinned: new Set(), expires: new Map(), ids: new Map() };
      for (const file of await readdir(folder)) {
        const [key = "", kind = ""] = file.split(".");
        if (!isKey(key)) continue;
        if (kind === "kv") marks.keys.add(key);
        if (kind === "pin") marks.pinned.add(key);
        if (kind === "expires") marks.expires.set(key, Number(await readMark(key, "expires")));
      }
      for (const file of await readdir(idFolder)) {
        const [key = "", id = ""] = splitOnce((await orMissing(readFile(join(idFolder, file), "utf8"))) ?? "");
        if (isKey(key) && id !== "") marks.ids.set(id, key);
      }
      return marks;
    },
    write: async (entry, blob) => writeWhole(path(entry.key), await encodeFile(format, entry, blob)),
    async read(key) {
      const bytes = await orMissing(readFile(path(key)));
      if (bytes === undefined) return undefined;
      const read = await readFileBytes(bytes, format, key);
      if (!read.ok) await remove(key);
      return read;
    },
    remove,
    async mark(key, kind, text) {
      if (text === null) await rm(path(key, kind), { force: true });
      else await writeWhole(path(key, kind), [Buffer.from(text)]);
    },
    async name(id, key) {
      const file = join(idFolder, createHash("sha256").update(id).digest("hex"));
      if (key === null) await rm(file, { force: true });
      else await writeWhole(file, [Buffer.from(`${key} ${id}`)]);
    },
    async readValues() {
      const found = jsonOf((await orMissing(readFile(join(folder, "values"), "utf8"))) ?? "[]");
      const rows: unknown[] = Array.isArray(found) ? found : [];
      return new Map(
        rows.flatMap((row): [string, ReuseValue][] => {
          const [key, value, at] = Array.isArray(row) ? (row as unknown[]) : [];
          return typeof key === "string" && isNumber(value) && isNumber(at) ? [[key, { value, at }]] : [];
        }),
      );
    },
    async writeValues(values) {
      const rows = [...values].map(([key, { value, at }]) => [key, value, at]);
      await writeWhole(join(folder, "values"), [Buffer.from(JSON.stringify(rows))]);
    },
  };
}

const splitOnce = (text: string): string[] => [text.slice(0, text.indexOf(" ")), text.slice(text.indexOf(" ") + 1)];
