// Which answers become examples, for how long, and which are tried again.
import { z } from "zod";
import { isTimeZone, timeOfDay, weekdays } from "../../algorithms/queueing/daily-times.ts";
import { bytes, count, days, factor, hours, milliseconds } from "./common.ts";

/** What names references as the judge of example replays; anything else is an arm. */
export const references = "reference:";

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
      /** Maximum bytes of request and response together. */
      maxBytes: bytes.default(16_384),
      /** Cosine from which two requests of a domain are the same: only the better answer stays. */
      nearDuplicate: z.number().min(0).max(1).default(0.97),
      /** Days that an example lives; 0: no limit. */
      ttlDays: days.default(90),
    })
    .prefault({}),
  evict: z
    .strictObject({
      everyMs: milliseconds.default(60_000),
      /** Byte budget of all texts and embeddings. */
      budgetBytes: bytes.default(256 * 1_048_576),
      /** Hours in which a new example is not evicted for room. */
      graceHours: hours.default(1),
    })
    .prefault({}),
  exampleReplay: z
    .strictObject({
      /** Examples tried in a run at most. */
      top: count.default(20),
      /** Answers asked for each. */
      samples: z.number().int().min(1).max(16).default(3),
      /** Tokens and money (in the prices' currency) that a run may use. */
      budgetTokens: count.default(100_000),
      budgetCost: factor.optional(),
      /**
       * Who compares answers: an arm, or reference:FILE (JSONL of request and response). A schedule
       * needs it; runs by hand may name another.
       */
      judge: z.string().min(1).optional(),
      /** Runs wait while the arms have requests to answer. */
      offPeak: z
        .strictObject({
          /**
           * Maximum load of the busiest arm: its unfinished requests over its processes' slots.
           * Above it no request is replayed.
           */
          load: factor.default(0.5),
          /** Maximum total waiting time of a run; after it the run ends. */
          waitMs: milliseconds.default(3_600_000),
        })
        .prefault({}),
      /** When runs begin by themselves, where the stage curate runs; absent: never. */
      schedule: z
        .strictObject({
          /** HH:MM, 24 hours. */
          times: z.array(z.string().regex(timeOfDay, "HH:MM, from 00:00 to 23:59")).min(1).max(96),
          /** Absent: every day. */
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
