// Batches: how their lines are routed, and their limits.
import { z } from "zod";
import { bytes, factor } from "./common.ts";

export const batch = z.strictObject({
  /** Cost weight of lines of batches; a line's own cost_weight goes first. */
  costWeight: factor.optional(),
  /** Bytes that a tenant may upload within 30 days. */
  tenantBytes: bytes.default(10 * 1_073_741_824),
});
