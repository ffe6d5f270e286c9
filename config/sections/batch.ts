// Batches: how their lines are routed, and their limits.
import { z } from "zod";
import { bytes, factor } from "./common.ts";

export const batch = z.strictObject({
  /**
   * Weight of cost for lines of batches, in place of routing.costWeight. A line's own cost_weight
   * goes first.
   */
  costWeight: factor.optional(),
  /**
   * Maximum utilisation of the busiest arm: its unfinished requests over its processes' slots.
   * Above it only lines are asked that the batch needs to finish in time.
   */
  offPeakLoad: factor.default(0.5),
  /** Bytes that a tenant may upload within 30 days, the time that files are kept. */
  tenantBytes: bytes.default(10 * 1_073_741_824),
});
