// precedent kv stats: what arms keep, and what of the last day's examples would be there.
import { join } from "node:path";
import type { Command } from "commander";
import { openInventory } from "../arms/linked/inventory.ts";
import type { Config } from "../config/schema.ts";
import { createClickHouse } from "../connections/clickhouse/client.ts";
import { createLog } from "../runtime/log.ts";
import { resolveConnections } from "../stack/resolve.ts";
import type { Io } from "./io.ts";
import { mebibytes, openFolders, type KvFolder } from "./kv-folders.ts";
import { configOf } from "./options.ts";
import { tableOf } from "./reading.ts";

export function addKvStats(kv: Command, io: Io): void {
  kv.command("stats")
    .description("caches and bytes by arm, and the share of the last day's example tokens that has one")
    .action(async (_options: object, command: Command) => {
      const { config } = configOf(command, io);
      const { arm } = command.optsWithGlobals<{ arm?: string }>();
      const folders = await openFolders(join(config.stack.folder, "kv"), arm);
      io.out(describeStats(folders));
      const shares = await shownShares(config, folders).catch(() => undefined);
      if (shares === undefined) io.note("ClickHouse is away: what requests were shown is not known\n");
      else if (shares.length > 0) io.out(tableOf(["arm", "example tokens shown in 24 h", "with a cache"], shares));
    });
}

const SHOWN = `
  SELECT arm, example_id AS id, sum(tokens) AS tokens
  FROM example_uses FINAL
  WHERE created_at >= now64() - INTERVAL 1 DAY AND arm IN {arms:Array(String)}
  GROUP BY arm, id`;

/** By arm that was shown examples: tokens, and the share of them whose example has a cache. */
async function shownShares(config: Config, folders: readonly KvFolder[]): Promise<(string | number)[][]> {
  if (folders.length === 0) return [];
  const clickhouse = createClickHouse((await resolveConnections(config, { start: false })).clickhouse);
  try {
    const arms = [...new Set(folders.map((folder) => folder.arm))];
    const rows = await clickhouse.query<{ arm: string; id: string; tokens: string }>(SHOWN, { arms });
    const log = createLog({ level: "warn" });
    const shares = arms.map(async (arm) => {
      const own = folders.filter((folder) => folder.arm === arm);
      const inventories = await Promise.all(
        own.map(async ({ path, store }) => (await openInventory({ store, folder: path, log })).cached().examples),
      );
      const cached = new Set(inventories.flat());
      const shown = rows.filter((row) => row.arm === arm).map(({ id, tokens }) => ({ id, tokens: Number(tokens) }));
      const sum = (some: typeof shown): number => some.reduce((total, { tokens }) => total + tokens, 0);
      const share = sum(shown.filter(({ id }) => cached.has(id))) / sum(shown);
      return [arm, sum(shown), `${Math.round(100 * share)} %`];
    });
    return (await Promise.all(shares)).filter(([, tokens]) => tokens !== 0);
  } finally {
    await clickhouse.close();
  }
}

function describeStats(folders: readonly KvFolder[]): string {
  const rows = folders.map(({ arm, format, store }) => {
    const rows = store.list();
    const { diskBytes, pinnedBytes } = store.stats();
    const tokens = rows.reduce((sum, row) => sum + row.tokens, 0);
    const chunks = new Set(rows.map(({ chunk }) => chunk)).size;
    return [arm, format.slice(0, 12), chunks, rows.length, tokens, mebibytes(diskBytes), mebibytes(pinnedBytes)];
  });
  return tableOf(["arm", "format", "chunks", "caches", "tokens", "MiB", "pinned MiB"], rows);
}
