// precedent kv ls|show|pin|rm|build|stats: chunk caches on disk, by the folder alone; a running arm
// takes notice within seconds.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import { formatsIn, openDisk } from "../connections/kv/disk.ts";
import { type Convention, KvError, type KvListed, type KvStore } from "../connections/kv/port.ts";
import { openKvStore } from "../connections/kv/store.ts";
import { createLog } from "../runtime/log.ts";
import { CommandError, type Io } from "./io.ts";
import { addKvBuild } from "./kv-build.ts";
import { configOf, parseCount } from "./options.ts";
import { tableOf } from "./reading.ts";

interface Folder {
  arm: string;
  format: string;
  store: KvStore;
}
type Row = KvListed & { arm: string };

export function addKv(program: Command, io: Io): void {
  const kv = program
    .command("kv")
    .description("chunk caches that llama arms keep on disk")
    .option("-a, --arm <name>", "of this arm alone");

  const on = async (command: Command, work: (folders: Folder[]) => Promise<string>): Promise<void> => {
    const { config } = configOf(command, io);
    const { arm } = command.optsWithGlobals<{ arm?: string }>();
    const folders = await openFolders(join(config.stack.folder, "kv"), arm);
    try {
      io.out(await work(folders));
    } catch (error) {
      throw error instanceof KvError ? new CommandError(error.message) : error;
    }
  };

  kv.command("ls")
    .description("what is there, the most valuable first")
    .option("-n, --limit <count>", "how many", parseCount, 50)
    .action(async ({ limit }: { limit: number }, command: Command) => {
      await on(command, async (folders) => describeCaches(rowsOf(folders), limit));
    });

  kv.command("show")
    .description("one of them, whole")
    .argument("<key>", "its key (the first digits will do) or an id that names it")
    .action(async (name: string, _options: object, command: Command) => {
      await on(command, async (folders) => `${JSON.stringify(findCache(folders, name).row, null, 2)}\n`);
    });

  kv.command("pin")
    .description("keep it whatever else needs room")
    .argument("<key>", "its key (the first digits will do) or an id that names it")
    .option("--off", "let it be evicted again")
    .action(async (name: string, { off = false }: { off?: boolean }, command: Command) => {
      await on(command, async (folders) => {
        const { folder, row } = findCache(folders, name);
        await folder.store.pin(row.key, !off);
        return `${off ? "unpinned" : "pinned"} ${row.key}\n`;
      });
    });

  kv.command("rm")
    .description("remove caches; they are made again when they are needed")
    .argument("<key...>", "their keys (the first digits will do) or ids that name them")
    .action(async (names: string[], _options: object, command: Command) => {
      await on(command, async (folders) => {
        // All of them are found before one is removed.
        const found = names.map((name) => findCache(folders, name));
        for (const { folder, row } of found) await folder.store.remove(row.key);
        return `removed ${found.length}\n`;
      });
    });

  addKvBuild(kv, io);

  kv.command("stats")
    .description("entries and bytes by arm")
    .action(async (_options: object, command: Command) => {
      await on(command, async (folders) => describeStats(folders));
    });
}

async function openFolders(root: string, only: string | undefined): Promise<Folder[]> {
  const arms = await readdir(root).catch(() => []);
  const log = createLog({ level: "warn" });
  const folders: Folder[] = [];
  for (const arm of arms.filter((name) => only === undefined || name === only)) {
    for (const format of await formatsIn(join(root, arm))) {
      const disk = await openDisk(join(root, arm), format);
      // Its budget is the arm's to keep.
      const options = { memoryBytes: 0, diskBytes: Infinity, clock: Date.now, log };
      folders.push({ arm, format, store: await openKvStore({ format, disk, ...options }) });
    }
  }
  return folders;
}

const rowsOf = (folders: readonly Folder[]): Row[] =>
  folders.flatMap(({ arm, store }) => store.list().map((row) => ({ arm, ...row })));

function findCache(folders: readonly Folder[], name: string): { folder: Folder; row: Row } {
  const found = folders.flatMap((folder) => {
    const named = folder.store.find(name);
    return rowsOf([folder])
      .filter(({ key }) => key === named || (name.length >= 6 && key.startsWith(name)))
      .map((row) => ({ folder, row }));
  });
  const [first] = found;
  if (first === undefined) throw new CommandError(`there is no chunk cache ${name}: precedent kv ls`);
  if (found.length > 1) throw new CommandError(`${found.length} chunk caches begin with ${name}: give more digits`);
  return first;
}

const madeBehind: Readonly<Record<Convention, string>> = {
  ...{ alone: "nothing", system: "system", context: "first context", seen: "as first seen", linked: "linked" },
};
const time = (at: number | null): string =>
  at === null ? "" : new Date(at).toISOString().replace("T", " ").slice(0, 19);
const mebibytes = (bytes: number): number => Number((bytes / 1_048_576).toFixed(1));

function describeCaches(rows: Row[], limit: number): string {
  if (rows.length === 0) return "no chunk caches: a llama arm makes them from the prompts that it answers\n";
  const shown = rows
    .sort((a, b) => b.value - a.value)
    .slice(0, limit)
    .map((row) => [
      `${row.key.slice(0, 12)}${row.pinned ? " pinned" : ""}`,
      row.arm,
      madeBehind[row.convention],
      row.ids.join(" "),
      time(row.createdAt),
      time(row.expiresAt),
      row.prefix.reduce((sum, { tokens }) => sum + tokens, 0),
      row.tokens,
      mebibytes(row.bytes),
      Number(row.value.toPrecision(3)),
    ]);
  const head = ["key", "arm", "made behind", "ids", "made", "expires", "prefix", "tokens", "MiB", "value"];
  return tableOf(head, shown) + (rows.length > limit ? `${rows.length - limit} more: --limit\n` : "");
}

function describeStats(folders: readonly Folder[]): string {
  const rows = folders.map(({ arm, format, store }) => {
    const rows = store.list();
    const { diskBytes, pinnedBytes } = store.stats();
    const tokens = rows.reduce((sum, row) => sum + row.tokens, 0);
    const chunks = new Set(rows.map(({ chunk }) => chunk)).size;
    return [arm, format.slice(0, 12), chunks, rows.length, tokens, mebibytes(diskBytes), mebibytes(pinnedBytes)];
  });
  return tableOf(["arm", "format", "chunks", "caches", "tokens", "MiB", "pinned MiB"], rows);
}
