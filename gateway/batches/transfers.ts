// Uploads and downloads of files: how many at a time, and lines sent as they are read.
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { createHeldCounts } from "../../algorithms/queueing/held-counts.ts";
import { ApiError } from "../errors.ts";

/** Uploads and downloads at a time, per gateway and per tenant. */
const mostTransfers = 8;
const mostOfTenant = 2;

/** Throws ApiError at a limit. Call the returned function at the end of the transfer. */
export function createTransfers(): (tenant: string) => () => void {
  const tenants = createHeldCounts();
  return (tenant) => {
    if (tenants.total() >= mostTransfers || tenants.of(tenant) >= mostOfTenant)
      throw new ApiError({
        ...{ status: 429, code: "too_many_open", retryAfter: 1 },
        message: `At most ${mostOfTenant} uploads and downloads of a tenant, and ${mostTransfers} of a gateway, run at a time: try again.`,
      });
    return tenants.take(tenant);
  };
}

/** Resolves when all is sent or the client has gone. Rejects only before the first byte. */
export async function sendLines(reply: FastifyReply, lines: AsyncGenerator<string>): Promise<void> {
  const first = await lines.next();
  const { raw } = reply;
  const ended = new Promise<void>((resolve) => raw.once("close", resolve));
  async function* whole(): AsyncGenerator<string> {
    if (first.done !== true) yield first.value;
    yield* lines;
  }
  await reply.type("application/jsonl").send(Readable.from(whole()));
  await ended;
}
