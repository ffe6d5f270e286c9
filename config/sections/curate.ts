// Which answers become examples, for how long, and which are tried again.
import { z } from "zod";
import { milliseconds } from "./common.ts";

export const curate = z.strictObject({
  /** Time between two looks at what is new. */
  everyMs: milliseconds.default(5_000),
  admit: z
    .strictObject({
      /** Rewarded at least so well an answer becomes an example; [0, 1]. */
      minimumQuality: z.number().min(0).max(1).default(0.8),
      /** Arms (or sources of observations) whose answers may; absent: any. */
      arms: z.array(z.string()).min(1).optional(),
      /** Tenants whose answers may; absent: all. */
      tenants: z.array(z.string()).min(1).optional(),
      /** Of request and response together. */
      maxBytes: z.number().int().positive().default(16_384),
      /** Cosine from which two requests of a domain are the same: only the better answer stays. */
      nearDuplicate: z.number().min(0).max(1).default(0.97),
      /** Days that an example lives; 0: for ever. */
      ttlDays: z.number().min(0).default(90),
    })
    .prefault({}),
  evict: z
    .strictObject({
      everyMs: milliseconds.default(60_000),
      /** Of all texts and embeddings. */
      budgetBytes: z
        .number()
        .int()
        .positive()
        .default(256 * 1_048_576),
      /** Hours in which a new example is not evicted for room. */
      graceHours: z.number().min(0).default(1),
      /** A use by a cheaper arm is an offload from this quality on. */
      offloadQuality: z.number().min(0).max(1).default(0.6),
    })
    .prefault({}),
  replay: z
    .strictObject({
      /** Examples tried in a run at most. */
      top: z.number().int().positive().default(20),
      /** Answers asked for each. */
      samples: z.number().int().min(1).max(16).default(3),
      temperature: z.number().min(0).max(2).default(0.8),
      /** Tokens and money (in the prices' currency) that a run may use. */
      budgetTokens: z.number().int().positive().default(100_000),
      budgetCost: z.number().nonnegative().optional(),
    })
    .prefault({}),
  personalData: z
    .strictObject({
      /** Replace public IPv4 addresses as well. */
      ipAddresses: z.boolean().default(false),
    })
    .prefault({}),
});
