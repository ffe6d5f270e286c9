// Batches: how their lines are routed, and what they may take.
import { z } from "zod";
import { bytes, factor } from "./common.ts";

export const batch = z.strictObject({
  /**
   * Weight of cost for lines of batches, in place of routing.costWeight: what can wait may go to
   * cheaper arms. A line's own cost_weight goes first.
   */
  costWeight: factor.optional(),
  /**
   * Maximum load of the busiest arm: its unfinished requests over its processes' slots. Above it no
   * line is asked, unless the batch would else not be finished in time.
   */
  offPeakLoad: factor.default(0.5),
  /** Bytes that a tenant may upload within 30 days, the time that files are kept. */
  tenantBytes: bytes.default(10 * 1_073_741_824),
});
