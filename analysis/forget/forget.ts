// precedent forget: records the erasure so that nothing comes back, writes tombstones, removes
// files, deletes rows (requests last), and searches again. Interrupted, the same call goes on.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { erasedLetter, erasedTenant } from "../../algorithms/privacy/erasure.ts";
import { pseudonym } from "../../algorithms/privacy/placeholders.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { rowsOf } from "../../operators/decode/rows.ts";
import type { Erasure } from "../../schemas/types.ts";
import type { Session } from "../../state/session.ts";
import { remaining, type ForgetReport } from "./report.ts";
import { createSubject, type Scope } from "./subject.ts";
import { createForgetTables, searchedTables } from "./tables.ts";
import { createForgetTopics, type TopicFinding } from "./topics.ts";
import type { ForgetFiles, HeldLocation } from "./files.ts";
import { slicesOf } from "../../algorithms/lists/lists.ts";

export interface ForgetDependencies {
  session: Pick<Session, "kafka" | "codec" | "topic" | "config"> & { clickhouse: ClickHouse };
  /** The table that holds the rows of `name`, and ON CLUSTER where there is one. */
  target: (name: string) => string;
  files: ForgetFiles;
  onProgress: (what: string) => void;
  signal: AbortSignal;
  clock: () => number;
}

export interface ForgetOptions {
  dryRun: boolean;
  /** Milliseconds that requests without an answer are waited for. */
  waitMs: number;
}

const hashesARecord = 1_000;
/** Searched so often at most, and found nothing twice in a row. */
const rounds = 6;
const pauseMs = 2_000;
/** Where no limit is set, no time is certain. */
const unlimitedLagMs = 7 * 86_400_000;
const endOfTime = Date.UTC(2100, 0, 1);

export async function forget(
  scope: Scope,
  { dryRun, waitMs }: ForgetOptions,
  { session, target, files, onProgress, signal, clock }: ForgetDependencies,
): Promise<ForgetReport> {
  const { clickhouse, config } = session;
  const tables = createForgetTables({ clickhouse, target });
  const topics = createForgetTopics(session);
  const began = clock();
  const isTenant = scope.user === undefined && scope.request === undefined;
  const { secret } = config.privacy.redact;
  const named = secret === undefined || scope.user === undefined ? null : pseudonym(secret, "user", scope.user);
  const subject = createSubject(scope, isTenant ? began : endOfTime, named);

  const look = async (): Promise<Awaited<ReturnType<typeof topics.read>>> => {
    signal.throwIfAborted();
    onProgress("looking in the tables for requests");
    await tables.find(subject);
    return topics.read(subject, (topic) => onProgress(`reading ${topic}`));
  };

  const inTopics = await look();
  const erasure = randomUUID();
  const report: ForgetReport = {
    ...{ scope, erasure: dryRun ? null : erasure, requests: subject.requests.size, underWay: 0 },
    removed: {
      rows: {},
      cacheEntries: 0,
      examples: 0,
      documents: 0,
      caches: 0,
      logReplays: [],
      pools: 0,
      leftBehind: 0,
    },
    searched: { tables: searchedTables, topics: inTopics.topics.map(({ topic }) => topic), folders: files.folders },
    ...{ found: [], remains: [] },
  };
  const noted = new Set<string>();
  let held: HeldLocation[] = [];
  const removed = report.removed;

  async function note(hashes: readonly string[]): Promise<void> {
    const fresh = hashes.filter((hash) => !noted.has(hash));
    const at = clock();
    const records: Erasure[] = [];
    for (const hashes of slicesOf(fresh, hashesARecord))
      records.push({ id: erasure, hashes, before: null, createdAt: at });
    if (subject.wholeTenant !== null && noted.size === 0)
      records.push({ id: erasure, hashes: [erasedTenant(subject.wholeTenant)], before: began, createdAt: at });
    await topics.remember(records);
    // The topic would bring them, too, some time after; what is deleted must stay so from now on.
    const location = { topic: "", partition: 0, offset: 0, timestamp: at };
    for (const record of records)
      for (const { table, rows } of rowsOf.erasures(record, location)) await clickhouse.insert(table, rows);
    for (const hash of fresh) noted.add(hash);
  }

  const removeAll = async (found: typeof inTopics): Promise<void> => {
    signal.throwIfAborted();
    await note([...subject.requests.keys(), ...(await tables.lettersOf(subject)).map(erasedLetter)]);
    onProgress(`taking ${found.cacheEntries.length} answers and ${found.examples.size} examples out`);
    await topics.bury(found);
    removed.cacheEntries += found.cacheEntries.length;
    removed.examples += found.examples.size;
    removed.documents += found.documents.length;
    const gone = await files.remove(subject, cleanFrom(found.topics, clock()), onProgress);
    removed.caches += gone.caches;
    removed.logReplays.push(...gone.logReplays);
    removed.pools += gone.pools;
    removed.leftBehind += gone.leftBehind;
    for (const [name, count] of Object.entries(await tables.count(subject)))
      if (count > 0) removed.rows[name] = (removed.rows[name] ?? 0) + count;
    await tables.delete(subject, (name) => onProgress(`deleting from ${name}`));
  };

  const since = began - config.limits.maxDeadlineMs;
  for (const end = began + waitMs; ; await sleep(500, undefined, { signal })) {
    report.underWay = await tables.underWay(subject, since);
    if (dryRun || report.underWay === 0 || clock() >= end) break;
    onProgress(`waiting for ${report.underWay} requests under way`);
  }

  if (dryRun) {
    report.found = await everywhere(inTopics);
    report.remains = remaining(inTopics.topics, began, true, held);
    return report;
  }
  let found = report.underWay === 0 ? inTopics : await look();
  let clean = 0;
  for (let round = 0; round < rounds && clean < 2; round++) {
    if (clean === 0) await removeAll(found);
    await sleep(pauseMs, undefined, { signal });
    found = await look();
    report.found = await everywhere(found);
    clean = report.found.length === 0 ? clean + 1 : 0;
  }
  report.requests = subject.requests.size;
  report.remains = remaining(found.topics, clock(), false, held);
  return report;

  /** What is still there, and what leaves with the process that has it open. */
  async function everywhere({ topics: read }: typeof inTopics): Promise<ForgetReport["found"]> {
    onProgress("searching all tables and files");
    const rows = Object.entries(await tables.count(subject, !dryRun)).map(([name, count]) => ({
      location: `table ${name}`,
      count,
    }));
    const live = read.map(({ topic, live: count }) => ({ location: `topic ${topic}`, count }));
    const inFiles = await files.search(subject);
    held = inFiles.held;
    return [...rows, ...live, ...inFiles.found].filter(({ count }) => count > 0);
  }
}

/** When the log of the examples is compacted, with some time for it. */
function cleanFrom(topics: readonly TopicFinding[], now: number): number {
  const keeps = topics.find(({ topic }) => topic.endsWith("examples"))?.keeps;
  return now + (keeps?.compactionLagMs ?? unlimitedLagMs) + 600_000;
}
