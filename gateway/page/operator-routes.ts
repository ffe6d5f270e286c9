// Routes of the page for operators: keys, dead letters, sessions, batches, changes of policies.
import { z } from "zod";
import { ApiError, badRequest } from "../errors.ts";
import { KeyRefused } from "../keys/manage.ts";
import { LetterRefused } from "./data/dead-letters.ts";
import type { Dashboard } from "./data/port.ts";

type Work = (given: unknown) => Promise<unknown>;

export interface OperatorRoutes {
  /** A GET; given is its query. */
  answer: (path: string, work: Work) => void;
  /** A POST of the page itself; given is its JSON body. */
  change: (path: string, work: Work) => void;
  /** Throws ApiError. */
  checked: <T>(schema: z.ZodType<T>, value: unknown) => T;
  /** Fills in the default period. */
  timed: <T extends { from?: number | undefined; until?: number | undefined; last?: number | undefined }>(
    given: T,
  ) => Omit<T, "last"> & { from: number; until: number };
}

const text = z.string().max(500).optional();
const time = z.coerce.number().int().min(0).max(8_640_000_000_000_000).optional();
const id = z.string().min(1).max(200);
const keyList = z.strictObject({ search: text, all: z.enum(["", "yes"]).optional() });
const names = z.array(z.string().min(1).max(256)).min(1).max(100).optional();
const perMinute = z.number().int().min(1);
const amount = z.number().positive().max(1e12);
const limits = { requestsPerMinute: perMinute, tokensPerMinute: perMinute, spendLimitPerDay: amount, spendLimitPerMonth: amount }; // prettier-ignore
const grants = z
  .strictObject({
    ...{ tenant: z.string().max(1_000).optional(), admin: z.boolean().optional(), arm: names, domain: names },
    label: z.string().max(1_000).default(""),
    ...z.object(limits).partial().shape,
  })
  .refine(({ tenant, admin }) => tenant !== undefined || admin === true, "A key has a tenant, or is an admin key.");
const none = z.literal("none");
const changes = z.strictObject({
  id,
  requestsPerMinute: perMinute.or(none).optional(),
  tokensPerMinute: perMinute.or(none).optional(),
  spendLimitPerDay: amount.or(none).optional(),
  spendLimitPerMonth: amount.or(none).optional(),
});
const topic = z.string().min(1).max(300);
const offset = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const letter = z.strictObject({
  ...{ topic, stage: topic, offset },
  partition: z.coerce
    .number()
    .int()
    .min(0)
    .max(2 ** 31 - 1),
});
const skip = z.coerce.number().int().min(0).max(1_000_000).optional();
const letters = z.strictObject({ topic: text, stage: text, code: text, tenant: text, before: time, skip });
const owners = z.strictObject({
  ...{ from: time, until: time, last: time, tenant: text, domain: text, arm: text, key: text },
  by: z.enum(["tenant", "domain", "key"]),
});
const ofVersion = z.strictObject({ version: z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER) });
const sessions = z.strictObject({ search: text, tenant: text, from: time, until: time, last: time });
const batches = z.strictObject({ tenant: text });

export function addOperatorRoutes({ answer, change, checked, timed }: OperatorRoutes, dashboard: Dashboard): void {
  answer("keys", (query) => {
    const { search, all } = checked(keyList, query);
    return dashboard.keys.list({ search, all: all === "yes" });
  });
  change("key-create", (body) => dashboard.keys.create(present(checked(grants, body))).catch(refused));
  change("key-limit", (body) => {
    const { id: key, ...limited } = checked(changes, body);
    return dashboard.keys.limit(key, present(limited)).catch(refused);
  });
  change("key-revoke", (body) => dashboard.keys.revoke(checked(z.strictObject({ id }), body).id).catch(refused));
  answer("owners", (query) => dashboard.owners(timed(checked(owners, query))));
  answer("policy-change", async (query) => {
    const found = await dashboard.policyChange(checked(ofVersion, query).version);
    if (found !== null) return found;
    throw new ApiError({ status: 404, code: "unknown_version", message: "No such version of the router is recorded." });
  });
  answer("policy-rewards", (query) => (checked(z.strictObject({}), query), dashboard.policyRewards()));
  answer("letters", (query) => dashboard.letters.list(checked(letters, query)));
  answer("letter", async (query) => {
    const found = await dashboard.letters.read(checked(letter, query));
    if (found === null)
      throw new ApiError({ status: 404, code: "unknown_letter", message: "There is no such dead letter." });
    return found;
  });
  change("letter-retry", (body) => dashboard.letters.retry(checked(letter, body)).catch(refused));
  answer("sessions", (query) => dashboard.sessions(timed(checked(sessions, query))));
  answer("batches", (query) => dashboard.batches(checked(batches, query).tenant));
}

type Present<T> = { [K in keyof T]: Exclude<T[K], undefined> };
/** Without members that are undefined. */
const present = <T extends object>(value: T): Present<T> =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as Present<T>;

function refused(error: unknown): never {
  if (error instanceof LetterRefused)
    throw new ApiError({ status: 409, code: "letter_refused", message: error.message });
  if (!(error instanceof KeyRefused)) throw error;
  // Messages name options of the command, which are fields here.
  const message = error.message.replace(/^--/, "");
  if (error.isWrong) throw badRequest(message);
  throw new ApiError({ status: 409, code: "key_refused", message });
}
