// OpenAI's batches: POST and GET /v1/batches, and cancel. A tenant sees its own.
import { createHash, randomUUID } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { createHeldCounts } from "../../algorithms/queueing/held-counts.ts";
import type { Caller } from "../caller.ts";
import { invalid } from "../api/request.ts";
import { endpoints } from "../batches/line-request.ts";
import { keptMs, mostBatches, mostOpenBatches, windowMs } from "../batches/limits.ts";
import { batchObject, pageOf, statusOf } from "../batches/objects.ts";
import type { Batches } from "../batches/open.ts";
import { isFailed, isFinished, mayRead, type StoredBatch } from "../batches/table.ts";
import { whenCreated } from "../batches/when-created.ts";
import { ApiError, badRequest } from "../errors.ts";
import { requestIdFor } from "../idempotency.ts";
import { headerOf } from "./answer.ts";
import { unknownFile } from "./files.ts";

export interface BatchesDependencies {
  callerOf: (request: FastifyRequest) => Caller;
  batches: Pick<Batches, "table" | "save">;
  clock: () => number;
}

const bodySchema = z.strictObject({
  input_file_id: z.string().min(1).max(256),
  endpoint: z.string().max(256),
  completion_window: z.literal("24h"),
  metadata: z
    .record(z.string().max(64), z.string().max(512))
    .refine((pairs) => Object.keys(pairs).length <= 16, "at most 16 pairs")
    .nullish(),
});
const listQuery = z.object({
  after: z.string().max(256).optional(),
  limit: z.coerce.number().int().min(1).max(100).default(20),
});

type WithId = FastifyRequest<{ Params: { id: string } }>;

export function addBatches(server: FastifyInstance, { callerOf, batches, clock }: BatchesDependencies): void {
  const { table, save } = batches;
  /** Batches that the brokers have not acknowledged yet, by tenant. */
  const creating = createHeldCounts();
  const found = async (caller: Caller, id: string): Promise<StoredBatch> => {
    const batch = await whenCreated(
      () => {
        const one = table.batch(caller.tenant, id);
        return one !== undefined && mayRead(caller, one.order.account) ? one : undefined;
      },
      /^batch_[0-9a-f]{32}$/.test(id),
    );
    if (batch === undefined) throw unknownBatch(id);
    return batch;
  };

  server.post("/v1/batches", async (incoming, reply) => {
    const caller = callerOf(incoming);
    const { tenant, account = null } = caller;
    const parsed = bodySchema.safeParse(incoming.body ?? {});
    if (!parsed.success) throw invalid(parsed.error);
    const { input_file_id: fileId, endpoint, metadata } = parsed.data;
    if (!endpoints.includes(endpoint))
      throw badRequest(`Batches are for ${endpoints.join(", ")}.`, "endpoint", "invalid_endpoint");
    const input = table.file(tenant, fileId);
    if (input === undefined || input.deleted || input.file.lines === 0 || !mayRead(caller, input.file.account))
      throw unknownFile(fileId);
    const id = batchIdFor(tenant, headerOf(incoming, "idempotency-key"));
    const known = table.batch(tenant, id);
    if (known !== undefined) {
      if (mayRead(caller, known.order.account)) return reply.send(batchObject(known));
      throw badRequest("Another key has made a batch with this Idempotency-Key: take another.", "idempotency-key");
    }
    // No await before creating.take: concurrent requests would pass the limits together.
    const all = table.batchesOf(tenant);
    if (all.filter((batch) => !isFinished(batch)).length + creating.of(tenant) >= mostOpenBatches)
      throw tooMany(`${mostOpenBatches} unfinished batches: wait for one of them, or cancel it`);
    if (all.length >= mostBatches)
      throw tooMany(`created ${mostBatches} batches within ${keptMs / 86_400_000} days, the most that it may`);
    const createdAt = clock();
    const order = { endpoint, account, metadata: metadata ?? {}, expiresAt: createdAt + windowMs };
    const batch = { id, tenant, createdAt, file: input.file, order };
    const release = creating.take(tenant);
    try {
      await save(batch);
    } finally {
      release();
    }
    return reply.send(batchObject(batch));
  });
  server.get("/v1/batches", async (incoming, reply) => {
    const caller = callerOf(incoming);
    const parsed = listQuery.safeParse(incoming.query);
    if (!parsed.success) throw invalid(parsed.error);
    const { after, limit } = parsed.data;
    const own = table.batchesOf(caller.tenant).filter(({ order }) => mayRead(caller, order.account));
    const page = pageOf(own, { after, limit });
    if (page === undefined) throw unknownBatch(after ?? "");
    return reply.send({ ...page, data: page.data.map(batchObject) });
  });
  server.get("/v1/batches/:id", async (incoming: WithId, reply) =>
    reply.send(batchObject(await found(callerOf(incoming), incoming.params.id))),
  );
  server.post("/v1/batches/:id/cancel", async (incoming: WithId, reply) => {
    const caller = callerOf(incoming);
    const batch = await found(caller, incoming.params.id);
    if (isFailed(batch) || isFinished(batch))
      throw new ApiError({
        ...{ status: 409, code: "batch_ended" },
        message: `Cannot cancel a batch with status '${statusOf(batch)}'.`,
      });
    if (batch.cancelledAt === undefined) await save({ id: batch.id, tenant: batch.tenant, cancelled: true });
    return reply.send(batchObject(await found(caller, batch.id)));
  });
}

/** Equal for equal Idempotency-Keys of a tenant. Throws ApiError. */
function batchIdFor(tenant: string, key: string | undefined): string {
  const hex =
    key === undefined
      ? randomUUID().replaceAll("-", "")
      : createHash("sha256")
          .update(`batch ${requestIdFor(tenant, key)}`)
          .digest("hex")
          .slice(0, 32);
  return `batch_${hex}`;
}

const tooMany = (what: string): ApiError =>
  new ApiError({ status: 429, code: "too_many_batches", message: `This tenant has ${what}.` });
const unknownBatch = (id: string): ApiError =>
  new ApiError({ status: 404, code: "batch_not_found", message: `No batch found with id '${id.slice(0, 80)}'.` });
