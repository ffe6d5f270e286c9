// Stores an uploaded file of a tenant: its form, its limits, and what a failed upload leaves.
import { randomUUID } from "node:crypto";
import type { Readable } from "node:stream";
import type { FastifyRequest } from "fastify";
import type { Caller } from "../caller.ts";
import { keptMs, mostFiles } from "./limits.ts";
import { readUpload } from "./multipart.ts";
import type { Batches } from "./open.ts";
import { storeFile } from "./store-file.ts";
import type { StoredFile } from "./table.ts";
import { ApiError, badRequest } from "../errors.ts";

export interface UploadDependencies extends Pick<Batches, "table" | "save" | "storing"> {
  /** Bytes that a tenant may upload within the time that files are kept. */
  tenantBytes: number;
}

/** The returned function rejects with ApiError. */
export function createUpload({ table, save, storing, tenantBytes }: UploadDependencies) {
  /** Bytes of unfinished uploads, by tenant. */
  const coming = new Map<string, number>();

  return async function upload(incoming: FastifyRequest, { tenant, account }: Caller): Promise<StoredFile> {
    const files = table.filesOf(tenant);
    if (files.length >= mostFiles) throw full(`${mostFiles} files`);
    const left = tenantBytes - files.reduce((sum, { file }) => sum + file.bytes, 0);
    const id = `file-${randomUUID().replaceAll("-", "")}`;
    let received = 0;
    let stored = 0;
    const onBytes = (bytes: number): void => {
      received += bytes;
      coming.set(tenant, (coming.get(tenant) ?? 0) + bytes);
      if ((coming.get(tenant) ?? 0) > left) throw full(`${tenantBytes} bytes (batch.tenantBytes)`);
    };
    const createdAt = Date.now();
    let file: Awaited<ReturnType<typeof storeFile>> | undefined;
    try {
      const read = await readUpload(incoming.body as Readable, incoming.headers, (name, chunks) =>
        storeFile(
          chunks,
          { id, tenant, name: name.slice(0, 256), account: account ?? null },
          { ...storing, onBytes, onStored: (bytes) => (stored += bytes) },
        ),
      );
      if (read.file === undefined)
        throw badRequest(
          "The form has no part named file: add the file of requests.",
          "file",
          "missing_required_parameter",
        );
      const purpose = read.fields.get("purpose");
      if (purpose !== "batch") throw badRequest("purpose must be batch: files serve batches only.", "purpose");
      refuseExpiry(read.fields);
      file = read.file;
      await save({ id, tenant, createdAt, file });
      return { id, tenant, createdAt, file, deleted: false };
    } finally {
      // The stored part of a failed upload counts against the tenant's bytes.
      if (file === undefined && stored > 0)
        await save({ id, tenant, createdAt, file: abandoned(id, stored) }).catch(() => 0);
      const others = (coming.get(tenant) ?? 0) - received;
      if (others > 0) coming.set(tenant, others);
      else coming.delete(tenant);
    }
  };
}

const abandoned = (id: string, bytes: number) => ({
  ...{ id, name: "", bytes, lines: 0, partition: 0, from: 0, to: 0, account: null, problems: [] },
});

/** All files are kept for the same time. A form may ask for exactly that. */
function refuseExpiry(fields: ReadonlyMap<string, string>): void {
  const asked = [...fields].filter(([name]) => name.startsWith("expires_after"));
  const served = new Map([
    ["expires_after[anchor]", "created_at"],
    ["expires_after[seconds]", String(keptMs / 1_000)],
  ]);
  if (asked.every(([name, value]) => served.get(name) === value)) return;
  throw badRequest(
    `Files are kept for ${keptMs / 86_400_000} days: leave expires_after out, and delete the file when you need it no more.`,
    "expires_after",
    "unsupported_parameter",
  );
}

const full = (what: string): ApiError =>
  new ApiError({
    ...{ status: 429, code: "files_full", param: "file" },
    message: `A tenant may upload at most ${what} within ${keptMs / 86_400_000} days; deleted files count.`,
  });
