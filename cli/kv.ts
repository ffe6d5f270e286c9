// precedent kv ls|show|pin|rm|build|stats: chunk caches on disk, by the folder alone; a running arm
// takes notice within seconds.
import { join } from "node:path";
import type { Command } from "commander";
import { type Convention, KvError } from "../connections/kv/port.ts";
import { CommandError, type Io } from "./io.ts";
import { addKvBuild } from "./kv-build.ts";
import { mebibytes, openFolders, rowsOf, type KvFolder, type KvRow } from "./kv-folders.ts";
import { addKvStats } from "./kv-stats.ts";
import { configOf, parseCount } from "./options.ts";
import { tableOf } from "./reading.ts";

export function addKv(program: Command, io: Io): void {
  const kv = program
    .command("kv")
    .description("chunk caches that llama arms keep on disk")
    .option("-a, --arm <name>", "of this arm alone");

  const on = async (command: Command, work: (folders: KvFolder[]) => Promise<string>): Promise<void> => {
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
    .argument("<key>", "its key (the first digits will do) or an id that names it; a document: acme/handbook")
    .option("--off", "let it be evicted again")
    .action(async (name: string, { off = false }: { off?: boolean }, command: Command) => {
      await on(command, async (folders) => {
        const found = findCaches(folders, name);
        for (const { folder, row } of found) await folder.store.pin(row.key, !off);
        return `${off ? "unpinned" : "pinned"} ${found.map(({ row }) => row.key).join(" ")}\n`;
      });
    });

  kv.command("rm")
    .description("remove caches; they are made again when they are needed")
    .argument("<key...>", "their keys (the first digits will do) or ids that name them; a document: acme/handbook")
    .action(async (names: string[], _options: object, command: Command) => {
      await on(command, async (folders) => {
        // All of them are found before one is removed.
        const named = names.flatMap((name) => findCaches(folders, name));
        const found = new Map(named.map((one) => [`${one.row.arm} ${one.row.key}`, one]));
        for (const { folder, row } of found.values()) await folder.store.remove(row.key);
        return `removed ${found.size}\n`;
      });
    });

  addKvBuild(kv, io);

  addKvStats(kv, io);
}

/** All caches of a document, by the name that `kv build --documents` gives them; else one. */
function findCaches(folders: readonly KvFolder[], name: string): { folder: KvFolder; row: KvRow }[] {
  const named = folders.flatMap((folder) =>
    rowsOf([folder])
      .filter(({ ids }) => ids.some((id) => isPieceOf(id, name)))
      .map((row) => ({ folder, row })),
  );
  return named.length > 0 ? named : [findCache(folders, name)];
}

/** Ids of documents may have a # of their own. */
const isPieceOf = (id: string, name: string): boolean =>
  id.startsWith(`${name}#`) && /^[1-9]\d*(\/first)?$/.test(id.slice(name.length + 1));

function findCache(folders: readonly KvFolder[], name: string): { folder: KvFolder; row: KvRow } {
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

function describeCaches(rows: KvRow[], limit: number): string {
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
