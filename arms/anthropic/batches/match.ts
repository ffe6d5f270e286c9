// Which batch a record stands for. Anthropic's batches have no room for a mark of ours and name
// their lines only when they have ended. So lines are recorded before their batch is created.
// After a crash, a record without a batch is matched with batches of that time: by their size, and
// by their results.
import { requestMs } from "../../batches/http.ts";
import type { SubmittedBatch } from "../../../schemas/types.ts";
import type { BatchesApi } from "./api.ts";

/** What processes know of the batches that they and others submitted. All reject as Kafka does. */
export interface BatchRecords {
  /** Everything written so far, of all arms. */
  read(): Promise<readonly SubmittedBatch[]>;
  write(record: SubmittedBatch): Promise<void>;
  remove(id: string): Promise<void>;
}

export interface Matching {
  /** The arm's records since then, but for those whose batch was never created. */
  read(arm: string, since: number): Promise<SubmittedBatch[]>;
  find(id: string): SubmittedBatch | undefined;
  keep(record: SubmittedBatch): Promise<void>;
  /** The record's batch: its id, null if there is none, undefined while that can't be known. */
  batchOf(record: SubmittedBatch): Promise<string | null | undefined>;
}

export interface MatchingOptions {
  api: Pick<BatchesApi, "list" | "results">;
  records: BatchRecords;
  collectMs: number;
  clock: () => number;
}

/** How far the provider's clock and those of processes may be apart. */
const skewMs = 300_000;
const idBytes = 8;
const mostForeign = 10_000;

export function createMatching({ api, records, collectMs, clock }: MatchingOptions): Matching {
  /** Time after which a creation that was begun has reached the provider, or never will. */
  const settleMs = collectMs + 2 * requestMs;
  const known = new Map<string, SubmittedBatch>();
  /** Batches that have lines of others. */
  const foreign = new Set<string>();

  const keep: Matching["keep"] = async (record) => {
    await records.write(record);
    known.set(record.id, record);
  };

  async function matched(record: SubmittedBatch): Promise<string | null | undefined> {
    const until = record.createdAt + settleMs;
    const claimed = new Set([...known.values()].map(({ batch }) => batch));
    let isSure = clock() >= until;
    for (const { id, createdAt, size, status } of await api.list(record.createdAt - skewMs)) {
      // A batch that can't be read may be the record's.
      const mayBe = Number.isNaN(size) || size === record.lines.length / idBytes;
      if (createdAt > until + skewMs || !mayBe) continue;
      if (claimed.has(id) || foreign.has(id)) continue;
      if (status !== "ended" || id === "") isSure = false;
      else if (await has(id, record)) {
        await keep({ ...record, batch: id });
        return id;
      } else foreign.add(id);
    }
    return isSure ? null : undefined;
  }

  async function has(batch: string, { lines }: SubmittedBatch): Promise<boolean> {
    const ids = new Set(shortIds(lines));
    for await (const { line } of api.results(batch)) if (ids.has(shortId(String(line["custom_id"])))) return true;
    return false;
  }

  async function batchOf(record: SubmittedBatch): Promise<string | null | undefined> {
    const found = record.batch ?? (await matched(record));
    if (found !== null) return found;
    await records.remove(record.id);
    known.delete(record.id);
    return null;
  }

  return {
    async read(arm, since) {
      const all = await records.read();
      for (const [id, { createdAt }] of known) if (createdAt < since) known.delete(id);
      if (foreign.size > mostForeign) foreign.clear();
      for (const record of all) if (record.createdAt >= since) known.set(record.id, record);
      const found: SubmittedBatch[] = [];
      for (const record of all)
        if (record.arm === arm && record.createdAt >= since && (await batchOf(record)) !== null) found.push(record);
      return found;
    },
    find: (id) => known.get(id),
    ...{ keep, batchOf },
  };
}

const shortId = (id: string): string => id.slice(0, 2 * idBytes);

export const bytesOf = (ids: readonly string[]): Buffer =>
  Buffer.concat(ids.map((id) => Buffer.from(shortId(id), "hex")));

/** First 16 digits of each id. */
export function* shortIds(lines: Uint8Array): Generator<string> {
  const bytes = Buffer.from(lines);
  for (let at = 0; at < bytes.length; at += idBytes) yield bytes.toString("hex", at, at + idBytes);
}
