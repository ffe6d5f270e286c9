// What the page's routes take, as they check it, and the filters that follow from it. Times are
// milliseconds since the epoch, `until` excluded; what is absent does not narrow.
import { z } from "zod";
import { badRequest } from "../../errors.ts";
import { mostOffset } from "./page-rows.ts";

const text = z.string().max(500).optional();
const time = z.coerce.number().int().min(0).max(8_640_000_000_000_000).optional();
const figure = z.coerce.number().min(0).max(1e12).optional();
const whole = z.coerce.number().int();
const id = z.string().min(1).max(200);
const name = z.string().min(1).max(200);
const tenant = z.string().min(1).max(500);
/** last: so much time before now, in place of `from` and `until`. */
const period = { from: time, until: time, last: time };
/** key: id of a gateway key; of the first one where it was rotated. */
const owned = { ...period, tenant: text, domain: text, arm: text, key: text };

const requests = z.strictObject({
  ...owned,
  search: text,
  /** cached: cache or reuse. */
  source: text,
  /** unanswered: failed or refused. */
  state: z.enum(["ok", "failed", "refused", "open", "unanswered"]).optional(),
  /** Failure code. */
  error: text,
  /** Words of the answer. */
  answer: text,
  /** `user` of the request, or its session: values of its metadata. */
  ...{ user: text, session: text },
  /** Another member of its metadata: name=value, or a name alone. */
  tag: text,
  /** Bounds: least cost, least time in ms, highest reward. */
  ...{ minCost: figure, minMs: figure, maxReward: figure },
  /** Newest first, or the most expensive, the slowest, the worst rated. */
  sort: z.enum(["time", "cost", "latency", "reward"]).optional(),
  /** Number of rows to skip. */
  offset: whole.min(0).max(mostOffset).optional(),
  /** Absent: those of a page (page-rows.ts). */
  limit: whole.min(1).max(200).optional(),
});
const overview = z.strictObject(owned);
const owners = z.strictObject({ ...owned, by: z.enum(["tenant", "domain", "key"]) });
/** search: beginning of a session's name. */
const sessions = z.strictObject({ ...period, search: text, tenant: text });
/** newest: unused ones, too; else by gain. */
const examples = z.strictObject({ search: text, sort: z.enum(["newest"]).optional() });
/** search: part of an id, a tenant or a label. all: revoked and expired ones, too. */
const keys = z.strictObject({ search: text, all: z.enum(["", "yes"]).optional() });
/** before, skip: only those until this time, without so many of them: the next page. */
const letters = z.strictObject({
  ...{ topic: text, stage: text, code: text, tenant: text, before: time },
  skip: whole.min(0).max(1_000_000).optional(),
});
const topic = z.string().min(1).max(300);
/** Position of the record that could not be processed, and the stage that failed. */
const letter = z.strictObject({
  ...{ topic, stage: topic, offset: whole.min(0).max(Number.MAX_SAFE_INTEGER) },
  partition: whole.min(0).max(2 ** 31 - 1),
});
const request = z.strictObject({ id: z.string().min(1).max(1_000), tenant });
const version = z.number().int().max(Number.MAX_SAFE_INTEGER);
/** By an arm, else by the one that a version of the router prefers (0: the prior). */
const askAgain = z
  .strictObject({
    ...{ ...request.shape, arm: name.optional(), policyVersion: version.min(0).optional() },
    /** All calls together, in the prices' currency. */
    maxCost: z.number().min(0).max(1e12),
  })
  .refine(
    ({ arm, policyVersion }) => (arm === undefined) !== (policyVersion === undefined),
    "Name an arm or a policy.",
  );
/** Longer than any example may be; the rules of admission say how long. */
const written = z.string().min(1).max(4_000_000);
const names = z.array(z.string().min(1).max(256)).min(1).max(100).optional();
const perMinute = z.number().int().min(1);
const amount = z.number().positive().max(1e12);
const none = z.literal("none");

/** Queries and bodies by what is asked or done. */
export const taken = {
  ...{ requests, request, overview, owners, sessions, examples, keys, letters, letter, askAgain },
  nothing: z.strictObject({}),
  tenant: z.strictObject({ tenant: text }),
  policy: z.strictObject({ name: text }),
  version: z.strictObject({ version: whole.min(1).max(Number.MAX_SAFE_INTEGER) }),
  revert: z.strictObject({ name, version: version.min(1) }),
  resume: z.strictObject({ name }),
  feedback: z.looseObject({ tenant }),
  id: z.strictObject({ id }),
  edit: z.strictObject({ id, request: written, response: written }),
  keyCreate: z
    .strictObject({
      ...{ tenant: z.string().max(1_000).optional(), admin: z.boolean().optional(), arm: names, domain: names },
      label: z.string().max(1_000).default(""),
      ...{ requestsPerMinute: perMinute.optional(), tokensPerMinute: perMinute.optional() },
      ...{ spendLimitPerDay: amount.optional(), spendLimitPerMonth: amount.optional() },
    })
    .refine((key) => key.tenant !== undefined || key.admin === true, "A key has a tenant, or is an admin key."),
  keyLimit: z.strictObject({
    id,
    requestsPerMinute: perMinute.or(none).optional(),
    tokensPerMinute: perMinute.or(none).optional(),
    spendLimitPerDay: amount.or(none).optional(),
    spendLimitPerMonth: amount.or(none).optional(),
  }),
};

interface Period {
  from?: number | undefined;
  until?: number | undefined;
  last?: number | undefined;
}
type Timed<T> = Omit<T, "last"> & { from: number; until: number };

export type RequestFilter = Timed<z.infer<typeof requests>>;
export type OverviewFilter = Timed<z.infer<typeof overview>>;
export type OwnerFilter = Timed<z.infer<typeof owners>>;
export type SessionFilter = Timed<z.infer<typeof sessions>>;
export type ExampleFilter = z.infer<typeof examples>;
export type KeyFilter = z.infer<typeof keys>;
export type LetterFilter = z.infer<typeof letters>;
export type LetterKey = z.infer<typeof letter>;
export type AskingAgain = z.infer<typeof askAgain>;

/** Throws ApiError. */
export function checked<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw badRequest(issue?.message ?? "This is no valid question.", issue?.path.map(String).join("."));
}

/** Without a time in the query, the default period that ends now. */
export function timed<T extends Period>({ last, ...given }: T, usualMs: number): Timed<T> {
  const until = given.until ?? Date.now() + 1;
  return { ...given, until, from: given.from ?? Math.max(0, until - (last ?? usualMs)) };
}
