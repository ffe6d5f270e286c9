// Which answers become examples, for how long, and which are tried again.
import { z } from "zod";
import { isTimeZone, timeOfDay, weekdays } from "../../algorithms/queueing/daily-times.ts";
import { bytes, count, days, factor, hours, milliseconds } from "./common.ts";

/** What names references as the judge of example replays; anything else is an arm. */
export const references = "reference:";

export const curate = z.strictObject({
  /** Between two passes; raise it where ClickHouse serves many processes. */
  everyMs: milliseconds.default(5_000),
  admit: z
    .strictObject({
      /** Reward from which an answer becomes an example. */
      minimumQuality: z.number().min(0).max(1).default(0.8),
      /** Arms or sources whose answers may; absent: any. */
      arms: z.array(z.string()).min(1).optional(),
      /** Tenants whose answers may; absent: all. */
      tenants: z.array(z.string()).min(1).optional(),
      /** Bytes of request and response together. */
      maxBytes: bytes.default(16_384),
      /** Cosine of requests from which only the better answer stays. */
      nearDuplicate: z.number().min(0).max(1).default(0.97),
      /** Days that an example lives; 0: no limit. */
      ttlDays: days.default(90),
    })
    .prefault({}),
  evict: z
    .strictObject({
      /** Bytes of all texts and vectors. */
      budgetBytes: bytes.default(256 * 1_048_576),
      /** Hours in which a new example is not evicted. */
      graceHours: hours.default(1),
    })
    .prefault({}),
  exampleReplay: z
    .strictObject({
      /** Examples tried in a run. */
      top: count.default(20),
      /** Answers asked for each. */
      samples: z.number().int().min(1).max(16).default(3),
      /** Tokens that a run may use. */
      budgetTokens: count.default(100_000),
      /** Money, in the prices' currency, that a run may use. */
      budgetCost: factor.optional(),
      /** Compares answers: an arm, or reference:FILE (JSON Lines). A schedule needs it. */
      judge: z.string().min(1).optional(),
      /** When runs begin by themselves. */
      schedule: z
        .strictObject({
          /** HH:MM; when runs begin by themselves. */
          times: z.array(z.string().regex(timeOfDay, "HH:MM, from 00:00 to 23:59")).min(1).max(96),
          /** Absent: daily. */
          days: z.array(z.enum(weekdays)).min(1).optional(),
          /** IANA name, such as Europe/Berlin. */
          timeZone: z.string().refine(isTimeZone, "no time zone: an IANA name such as Europe/Berlin").default("UTC"),
        })
        .optional(),
    })
    .prefault({}),
  personalData: z
    .strictObject({
      /** Replace public IPv4 addresses as well. */
      ipAddresses: z.boolean().default(false),
    })
    .prefault({}),
});
