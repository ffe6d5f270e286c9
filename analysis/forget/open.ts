// precedent forget, wired: the tables as they are named here, and the files beside topics and
// tables: caches of keys and values, pools of examples, copies of documents, log replays.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { localTable, onCluster } from "../../connections/clickhouse/render.ts";
import { discardDocuments, holdDocumentsOf, isInUse } from "../../connections/documents/left-behind.ts";
import { formatsIn, openDisk } from "../../connections/kv/disk.ts";
import { discardPool, erasedFrom } from "../../state/examples/erased.ts";
import { forget, type ForgetOptions } from "./forget.ts";
import type { ForgetReport } from "./report.ts";
import type { ForgetFiles, HeldLocation } from "./files.ts";
import { filesWith } from "./search-files.ts";
import { databaseOf } from "../log-replay/names.ts";
import type { Scope } from "./subject.ts";
import { erasedRequestSql } from "../../algorithms/privacy/erasure.ts";
import { listLogReplays, removeLogReplay } from "../log-replay/run.ts";
import type { Session } from "../../pipelines/session.ts";

export async function runForget(
  scope: Scope,
  options: ForgetOptions & { onProgress: (what: string) => void; signal: AbortSignal },
  session: Session,
): Promise<ForgetReport> {
  const { clickhouse: settings } = session.config;
  return forget(scope, options, {
    session,
    target: (name) => `${localTable(name, settings)} ${onCluster(settings)}`,
    files: createForgetFiles(session),
    onProgress: options.onProgress,
    signal: options.signal,
    clock: Date.now,
  });
}

const pagesOfPool = "free pages and vectors; until its process starts again after that time";
const pagesOfDocuments = "free pages; until its process stops, or starts again where it is killed";

function createForgetFiles({ config, clickhouse, log }: Session): ForgetFiles {
  const { folder } = config.stack;
  const [caches, pools, documents] = [join(folder, "kv"), join(folder, "pools"), join(folder, "documents")];
  let cachesRemoved = false;

  /** Which request a cache came from is not kept: all go, and are made again when needed. */
  async function removeCaches(): Promise<number> {
    if (cachesRemoved) return 0;
    let removed = 0;
    for (const arm of await namesIn(caches))
      for (const format of await formatsIn(join(caches, arm))) {
        const disk = await openDisk(join(caches, arm), format);
        const { keys, ids } = await disk.marks();
        for (const id of ids.keys()) await disk.name(id, null);
        for (const key of keys) await disk.remove(key);
        await disk.writeValues(new Map());
        removed += keys.size;
      }
    cachesRemoved = true;
    return removed;
  }

  async function logReplaysWith(database: (id: string, lane?: number) => string): Promise<string[]> {
    const there = new Set(
      (await clickhouse.query<{ name: string }>("SELECT name FROM system.databases")).map(({ name }) => name),
    );
    const found: string[] = [];
    for (const { id, lanes } of await listLogReplays(config)) {
      const looks = [
        { name: database(id), table: "log", request: "request_id" },
        ...lanes.map((_, lane) => ({ name: database(id, lane), table: "requests", request: "request_id" })),
        ...lanes.map((_, lane) => ({
          ...{ name: database(id, lane), table: "examples", request: "ifNull(source_request_id, '')" },
        })),
      ];
      for (const { name, table, request } of looks) {
        if (!there.has(name) || found.includes(id)) continue;
        const tables = await clickhouse.query(
          `SELECT 1 FROM system.tables WHERE database = '${name}' AND name = '${table}'`,
        );
        if (tables.length === 0) continue;
        const rows = await clickhouse.query(
          `SELECT 1 FROM ${name}.${table} WHERE ${erasedRequestSql("tenant", request)} GLOBAL IN (SELECT hash FROM erasures) LIMIT 1`,
        );
        if (rows.length > 0) found.push(id);
      }
    }
    return found;
  }

  async function poolFolders(): Promise<string[]> {
    const topics = await namesIn(pools);
    return (
      await Promise.all(
        topics.map(async (topic) => (await namesIn(join(pools, topic))).map((name) => join(pools, topic, name))),
      )
    ).flat();
  }

  return {
    folders: [caches, pools, documents, join(folder, "log-replays")],
    async remove(subject, poolsFrom, onProgress) {
      onProgress("removing caches, pools and log replays");
      const removed = await removeCaches();
      const logReplays = await logReplaysWith((id, lane) => databaseOf(config, id, lane));
      for (const id of logReplays) await removeLogReplay(id, { config, log });
      let gone = 0;
      for (const pool of await poolFolders())
        if ((await filesWith(pool, subject)).length > 0 && (await discardPool(pool, poolsFrom)) === "gone") gone++;
      let leftBehind = 0;
      for (const name of await namesIn(documents))
        if ((await discardDocuments(join(documents, name))) === "gone") leftBehind++;
      return { caches: removed, logReplays, pools: gone, leftBehind };
    },
    async search(subject) {
      const found = (await logReplaysWith((id, lane) => databaseOf(config, id, lane))).map((id) => ({
        location: `log replay ${id}`,
        count: 1,
      }));
      const held: HeldLocation[] = [];
      for (const pool of await poolFolders()) {
        const location = { location: `pool ${pool}`, count: (await filesWith(pool, subject)).length };
        const from = await erasedFrom(pool);
        if (from !== undefined) held.push({ ...location, until: from, why: pagesOfPool });
        else if (location.count > 0) found.push(location);
      }
      const { wholeTenant } = subject;
      // A user's documents are not told apart: they go with their tenant alone.
      for (const name of await namesIn(documents)) {
        const copy = join(documents, name);
        if (wholeTenant === null || !(await holdDocumentsOf(copy, wholeTenant))) continue;
        const location = { location: `documents ${copy}`, count: 1 };
        if (await isInUse(copy)) held.push({ ...location, until: null, why: pagesOfDocuments });
        else found.push(location);
      }
      return { found, held };
    },
  };
}

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);
