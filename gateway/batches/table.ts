// Files and batches of all tenants, from the parts on the topic batches. Every gateway holds all.
import type { TableChange } from "../../runtime/table.ts";
import type { BatchFile, BatchOrder, BatchPart, BatchProgress } from "../../schemas/types.ts";
import { keptMs } from "./limits.ts";

export interface StoredFile {
  id: string;
  tenant: string;
  createdAt: number;
  file: BatchFile;
  /** Clients no longer see it. */
  deleted: boolean;
}

export interface StoredBatch {
  id: string;
  tenant: string;
  createdAt: number;
  /** Its input. */
  file: BatchFile;
  order: BatchOrder;
  /** Absent: it is not cancelled. */
  cancelledAt?: number | undefined;
  /** Absent: no gateway has begun with it. */
  progress?: BatchProgress | undefined;
}

export type BatchTable = ReturnType<typeof createBatchTable>;

type Kind = "order" | "file" | "cancel" | "progress" | "deleted";

const kindOf = ({ order, file, progress, cancelled }: BatchPart): Kind => {
  if (order !== null) return "order";
  if (file !== null) return "file";
  if (progress !== null) return "progress";
  return cancelled ? "cancel" : "deleted";
};

/** Key of a part on the topic: each kind has a record of its own. */
export const partKey = (part: BatchPart): string => `${part.id} ${kindOf(part)}`;

export const noPart = { file: null, order: null, progress: null, cancelled: false, deleted: false };

/** A key that is restricted to domains reads what its own account uploaded or ordered. */
export const mayRead = (
  { domains, account: own }: { domains: readonly string[] | null; account?: string },
  account: string | null,
): boolean => domains === null || (own !== undefined && own === account);

/** A batch whose file has problems is never worked on. */
export const isFailed = ({ file }: Pick<StoredBatch, "file">): boolean => file.problems.length > 0;
export const isFinished = (batch: StoredBatch): boolean => isFailed(batch) || (batch.progress?.result ?? null) !== null;

type Entry = ReadonlyMap<Kind, BatchPart>;

export function createBatchTable(now: () => number) {
  const tenants = new Map<string, Map<string, Entry>>();
  const tenantOf = new Map<string, string>();
  /** Ids of unfinished batches. */
  const open = new Set<string>();

  const entryOf = (tenant: string, id: string): Entry => tenants.get(tenant)?.get(id) ?? new Map();
  const set = (part: BatchPart): void => {
    const { id, tenant } = part;
    const kind = kindOf(part);
    const entry = new Map(entryOf(tenant, id));
    // A gateway that was frozen may write progress after another one has finished the batch.
    const known = entry.get(kind)?.progress?.result ?? null;
    if (known !== null && (part.progress?.result ?? null) === null) return;
    const own = tenants.get(tenant) ?? new Map<string, Entry>();
    tenants.set(tenant, own.set(id, entry.set(kind, part)));
    tenantOf.set(id, tenant);
  };
  const drop = (tenant: string, id: string): void => {
    const own = tenants.get(tenant);
    own?.delete(id);
    if (own?.size === 0) tenants.delete(tenant);
    tenantOf.delete(id);
    open.delete(id);
  };
  const remove = (key: string): void => {
    const [id = "", kind = ""] = key.split(" ");
    const tenant = tenantOf.get(id) ?? "";
    const left = [...entryOf(tenant, id)].filter(([one]) => one !== kind);
    if (left.length === 0) drop(tenant, id);
    else tenants.get(tenant)?.set(id, new Map(left));
  };
  /** Its time is over; the topic removes it later, and this table has read it already. */
  const isOver = (part: BatchPart): boolean => part.createdAt + keptMs <= now();
  const fileOf = (entry: Entry): StoredFile | undefined => {
    const part = entry.get("file");
    if (part === undefined || part.file === null || isOver(part)) return undefined;
    const { id, tenant, createdAt, file } = part;
    return { id, tenant, createdAt, file, deleted: entry.has("deleted") };
  };
  const batchOf = (entry: Entry): StoredBatch | undefined => {
    const part = entry.get("order");
    if (part === undefined || part.order === null || part.file === null || isOver(part)) return undefined;
    const { id, tenant, createdAt, file, order } = part;
    const progress = entry.get("progress")?.progress ?? undefined;
    return { id, tenant, createdAt, file, order, cancelledAt: entry.get("cancel")?.createdAt, progress };
  };
  const listed = <T extends { createdAt: number; id: string }>(
    tenant: string,
    read: (entry: Entry) => T | undefined,
  ): T[] => {
    const entries = [...(tenants.get(tenant) ?? [])];
    for (const [id, entry] of entries) {
      const first = entry.get("order") ?? entry.get("file");
      if (first !== undefined && isOver(first)) drop(tenant, id);
    }
    const own = entries.map(([, entry]) => read(entry)).filter((one) => one !== undefined);
    return own.sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
  };

  return {
    apply(changes: readonly TableChange<BatchPart>[]): void {
      for (const { key, value } of changes) {
        if (value === null) remove(key);
        else set(value);
        const id = value?.id ?? key.split(" ")[0] ?? "";
        const batch = batchOf(entryOf(tenantOf.get(id) ?? "", id));
        if (batch === undefined || isFinished(batch)) open.delete(id);
        else open.add(id);
      }
    },
    file: (tenant: string, id: string): StoredFile | undefined => fileOf(entryOf(tenant, id)),
    batch: (tenant: string, id: string): StoredBatch | undefined => batchOf(entryOf(tenant, id)),
    /** Newest first. */
    filesOf: (tenant: string): StoredFile[] => listed(tenant, fileOf),
    batchesOf: (tenant: string): StoredBatch[] => listed(tenant, batchOf),
    /** Those of all tenants. */
    all: (): StoredBatch[] => [...tenants.keys()].flatMap((tenant) => listed(tenant, batchOf)),
    /** All tenants' batches that a gateway has to work on. */
    unfinished: (): StoredBatch[] =>
      [...open].map((id) => batchOf(entryOf(tenantOf.get(id) ?? "", id))).filter((one) => one !== undefined),
  };
}
