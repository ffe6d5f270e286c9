// Limits the open requests: of all tenants together, and of each tenant to as many as it leaves
// free, so that a tenant that sends without end can't take every connection.
import { createHeldCounts } from "../algorithms/queueing/held-counts.ts";
import { ApiError } from "./errors.ts";

export type ConnectionLimit = ReturnType<typeof createConnectionLimit>;

export function createConnectionLimit(most: number) {
  const tenants = createHeldCounts();
  return {
    /** Throws ApiError; call what it returns to release the connection. */
    take(tenant: string): () => void {
      const own = tenants.of(tenant);
      const open = tenants.total();
      if (open >= most)
        throw new ApiError({
          ...{ status: 503, code: "overloaded", retryAfter: 1 },
          message: `The gateway holds ${most} requests, as many as it may (gateway.maxOpen): try again.`,
        });
      if (own > 0 && own >= most - open)
        throw new ApiError({
          ...{ status: 429, code: "too_many_open", retryAfter: 1 },
          message: `${own} requests of this tenant are open, as many as it leaves free: wait for some of their answers.`,
        });
      return tenants.take(tenant);
    },
    open: tenants.total,
  };
}
