// OpenAI's files, of purpose batch: POST, GET and DELETE /v1/files, and their content. Results of
// batches are files, too. A tenant sees its own.
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import type { Caller } from "../caller.ts";
import { filesPath } from "../addresses.ts";
import { invalid } from "../api/request.ts";
import { mostFileBytes } from "../batches/limits.ts";
import { fileObject, pageOf, resultFiles, resultOf, type ResultKind } from "../batches/objects.ts";
import type { Batches } from "../batches/open.ts";
import { tooLarge } from "../batches/store-file.ts";
import { mayRead, type StoredBatch, type StoredFile } from "../batches/table.ts";
import { createTransfers, sendLines } from "../batches/transfers.ts";
import { createUpload } from "../batches/upload.ts";
import { whenCreated } from "../batches/when-created.ts";
import { closed } from "../closed.ts";
import { ApiError, badRequest } from "../errors.ts";
import { refuseEncoded } from "../server.ts";

export interface FilesDependencies {
  callerOf: (request: FastifyRequest) => Caller;
  batches: Pick<Batches, "table" | "save" | "storing" | "readLines" | "results">;
  /** Bytes that a tenant may upload within the time that files are kept. */
  tenantBytes: number;
}

/** Bytes of a form around its file. */
const formBytes = 65_536;

const listQuery = z.object({
  after: z.string().max(256).optional(),
  limit: z.coerce.number().int().min(1).max(10_000).default(10_000),
  order: z.enum(["asc", "desc"]).default("desc"),
  purpose: z.string().max(64).optional(),
});

type WithId = FastifyRequest<{ Params: { id: string } }>;

export function addFiles(server: FastifyInstance, { callerOf, batches, tenantBytes }: FilesDependencies) {
  const { table, save, storing, readLines, results } = batches;
  const transfer = createTransfers();
  const upload = createUpload({ table, save, storing, tenantBytes });

  /** Newest first, also those of the same second. */
  const all = (caller: Caller) => {
    const uploaded = table.filesOf(caller.tenant).filter((file) => isThere(file, caller));
    const batches = table.batchesOf(caller.tenant).filter(({ order }) => mayRead(caller, order.account));
    const files = [
      ...uploaded.map((file) => ({ at: file.createdAt, object: fileObject(file) })),
      ...batches.flatMap((batch) =>
        resultFiles(batch).map((object) => ({ at: batch.progress?.result?.finishedAt ?? 0, object })),
      ),
    ];
    files.sort((a, b) => b.at - a.at || (a.object.id < b.object.id ? 1 : -1));
    return files.map(({ object }) => object);
  };
  const found = async <T>(id: string, read: () => T | undefined): Promise<T> => {
    const one = await whenCreated(read, id.startsWith("file-"));
    if (one === undefined) throw unknownFile(id);
    return one;
  };
  const inputOf = (caller: Caller, id: string): Promise<StoredFile> =>
    found(id, () => {
      const file = table.file(caller.tenant, id);
      return file !== undefined && isThere(file, caller) ? file : undefined;
    });
  const resultsOf = (caller: Caller, fileId: string, batchId: string): Promise<StoredBatch> =>
    found(fileId, () => {
      const batch = table.batch(caller.tenant, batchId);
      if (batch === undefined || !mayRead(caller, batch.order.account)) return undefined;
      return resultFiles(batch).some(({ id }) => id === fileId) ? batch : undefined;
    });

  async function* inputLines(file: StoredFile, signal: AbortSignal): AsyncGenerator<string> {
    for await (const { text } of readLines(file.file, signal)) yield `${text}\n`;
  }
  async function* resultLines(batch: StoredBatch, kind: ResultKind, signal: AbortSignal): AsyncGenerator<string> {
    const status = batch.progress?.result?.status as "completed" | "expired" | "cancelled";
    for await (const line of results(batch, status, signal)) if (line.kind === kind) yield line.text;
  }

  // Only uploads are forms; every other body is JSON.
  void server.register((uploads, _options, done) => {
    uploads.addContentTypeParser("multipart/form-data", (_request, body, parsed) => parsed(null, body));
    uploads.post(filesPath, async (incoming, reply) => {
      const caller = callerOf(incoming);
      refuseEncoded(incoming.headers["content-encoding"]);
      if (!(incoming.body instanceof Readable))
        throw badRequest("Upload a form (multipart/form-data) with purpose and file.", "file");
      if (Number(incoming.headers["content-length"] ?? 0) > mostFileBytes + formBytes) throw tooLarge();
      const release = transfer(caller.tenant);
      try {
        return await reply.send(fileObject(await upload(incoming, caller)));
      } catch (error) {
        // The client may still be sending the rest.
        void reply.header("connection", "close");
        throw error;
      } finally {
        release();
      }
    });
    done();
  });
  server.get(filesPath, async (incoming, reply) => {
    const caller = callerOf(incoming);
    const parsed = listQuery.safeParse(incoming.query);
    if (!parsed.success) throw invalid(parsed.error);
    const { after, limit, order, purpose } = parsed.data;
    const files = all(caller).filter((file) => purpose === undefined || file.purpose === purpose);
    if (order === "asc") files.reverse();
    const page = pageOf(files, { after, limit });
    if (page === undefined) throw unknownFile(after ?? "");
    return reply.send(page);
  });
  server.get(`${filesPath}/:id`, async (incoming: WithId, reply) => {
    const caller = callerOf(incoming);
    const { id } = incoming.params;
    const result = resultOf(id);
    if (result === undefined) return reply.send(fileObject(await inputOf(caller, id)));
    const files = resultFiles(await resultsOf(caller, id, result.batchId));
    return reply.send(files.find((file) => file.id === id));
  });
  server.delete(`${filesPath}/:id`, async (incoming: WithId, reply) => {
    const caller = callerOf(incoming);
    const { id } = incoming.params;
    if (resultOf(id) !== undefined)
      throw badRequest("Results of a batch are read from the log and can't be deleted here.", "file_id");
    await inputOf(caller, id);
    await save({ id, tenant: caller.tenant, deleted: true });
    return reply.send({ id, object: "file", deleted: true });
  });
  server.get(`${filesPath}/:id/content`, async (incoming: WithId, reply) => {
    const caller = callerOf(incoming);
    const { id } = incoming.params;
    const result = resultOf(id);
    const release = transfer(caller.tenant);
    try {
      const signal = closed(reply);
      const lines =
        result === undefined
          ? inputLines(await inputOf(caller, id), signal)
          : resultLines(await resultsOf(caller, id, result.batchId), result.kind, signal);
      await sendLines(reply, lines);
    } finally {
      release();
    }
    return reply;
  });
}

const isThere = ({ deleted, file }: StoredFile, caller: Caller): boolean =>
  !deleted && file.lines > 0 && mayRead(caller, file.account);

export const unknownFile = (id: string): ApiError =>
  new ApiError({
    ...{ status: 404, code: "file_not_found", param: "file_id" },
    message: `No such File object: ${id.slice(0, 80)}`,
  });
