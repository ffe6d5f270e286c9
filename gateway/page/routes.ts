// The page's questions as JSON. The browser names what it wants by a few checked parameters;
// whatever becomes of them in SQL is the dashboard's.
import { randomUUID } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { feedbackOf } from "../api/feedback.ts";
import type { Feedback } from "../../schemas/types.ts";
import { PolicyRefused, type Dashboard } from "./data/port.ts";
import { closed } from "../closed.ts";
import { ApiError, badRequest } from "../errors.ts";
import { createLookUps } from "../lookups.ts";
import { unknownRequest } from "../routes/requests.ts";
import { sameOrigin, type MayLook } from "./access.ts";
import { setHeaders } from "./headers.ts";
import { addOperatorRoutes } from "./operator-routes.ts";

export interface PageDependencies {
  mayLook: MayLook;
  dashboard: Dashboard;
  /** In the brokers when it resolves. */
  giveFeedback: (feedback: Feedback) => Promise<void>;
  clock: () => number;
}

const text = z.string().max(500).optional();
const time = z.coerce.number().int().min(0).max(8_640_000_000_000_000).optional();
const figure = z.coerce.number().min(0).max(1e12).optional();
/** With a page and repeats beyond it, fewer rows than ClickHouse gives the page. */
const mostOffset = 49_000;
const filter = z.strictObject({
  ...{ search: text, tenant: text, domain: text, arm: text, key: text, source: text, error: text },
  ...{ answer: text, user: text, session: text, tag: text, from: time, until: time, last: time },
  state: z.enum(["ok", "failed", "refused", "open", "unanswered"]).optional(),
  ...{ minCost: figure, minMs: figure, maxReward: figure },
  sort: z.enum(["time", "cost", "latency", "reward"]).optional(),
  offset: z.coerce.number().int().min(0).max(mostOffset).optional(),
  limit: z.coerce.number().int().min(1).max(200).optional(),
});
const named = z.strictObject({ id: z.string().min(1).max(1_000), tenant: z.string().min(1).max(500) });
const span = z.strictObject({ from: time, until: time, last: time, tenant: text, domain: text, arm: text, key: text });
const policy = z.strictObject({ name: text });
const examples = z.strictObject({ search: text, sort: z.enum(["newest"]).optional() });
const example = z.strictObject({ id: z.string().min(1).max(200) });
/** Longer than any example may be; the rules of admission say how long. */
const written = z.string().min(1).max(4_000_000);
const edited = z.strictObject({ ...example.shape, request: written, response: written });
const askingAgain = z
  .strictObject({
    ...{ ...named.shape, arm: z.string().min(1).max(200).optional(), maxCost: z.number().min(0).max(1e12) },
    policyVersion: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
  })
  .refine(
    ({ arm, policyVersion }) => (arm === undefined) !== (policyVersion === undefined),
    "Name an arm or a policy.",
  );
/** Author of the page's feedback, by which it can be withdrawn. */
const pageAuthor = "page";
const onTenant = z.looseObject({ tenant: z.string().min(1).max(500) });
const nothing = z.strictObject({});
const name = z.string().min(1).max(200);
const reverting = z.strictObject({ name, version: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER) });
const resuming = z.strictObject({ name });

const hourMs = 3_600_000;

export function addPageRoutes(
  server: FastifyInstance,
  { mayLook, dashboard, giveFeedback, clock }: PageDependencies,
): void {
  const lookUp = createLookUps();
  const answer = (path: string, work: (query: unknown) => Promise<unknown>): void => {
    server.get(`/page/api/${path}`, async (incoming, reply) => {
      mayLook(incoming);
      return send(reply, await lookUp(() => work(incoming.query)));
    });
  };
  const change = (path: string, work: (body: unknown) => Promise<unknown>): void => {
    server.post(`/page/api/${path}`, async (incoming: FastifyRequest, reply) => {
      mayLook(incoming);
      sameOrigin(incoming);
      return send(reply, await lookUp(() => work(incoming.body).catch(refused)));
    });
  };

  answer("requests", (query) => dashboard.requests(timed(checked(filter, query), hourMs)));
  answer("request", async (query) => {
    const { id, tenant } = checked(named, query);
    const found = await dashboard.request(id, tenant);
    if (found === null) throw unknownRequest();
    return found;
  });
  answer("overview", (query) => dashboard.overview(timed(checked(span, query), 24 * hourMs)));
  answer("policies", (query) => dashboard.policies(checked(policy, query).name));
  answer("examples", (query) => dashboard.examples(checked(examples, query)));
  answer("example", (query) => dashboard.example(checked(example, query).id));
  answer("experiments", (query) => (checked(nothing, query), dashboard.experiments()));
  answer("values", (query) => (checked(nothing, query), dashboard.values()));
  answer("health", (query) => (checked(nothing, query), dashboard.health()));
  answer("names", (query) => (checked(nothing, query), dashboard.names()));
  change("revert", (body) => {
    const wanted = checked(reverting, body);
    return dashboard.revert(wanted.name, wanted.version);
  });
  // What POST /v1/feedback takes, and whose request it is on: an admin key is of no tenant.
  change("feedback", async (body) => {
    const { tenant, ...reported } = checked(onTenant, body);
    const feedback = feedbackOf({ author: pageAuthor, ...reported }, { tenant, id: randomUUID(), now: clock() });
    await giveFeedback(feedback);
    return { id: feedback.id };
  });
  // It may take as long as a model does: it holds none of the few look-ups.
  server.post("/page/api/ask-again", async (incoming, reply) => {
    mayLook(incoming);
    sameOrigin(incoming);
    return send(reply, await dashboard.askAgain(checked(askingAgain, incoming.body), closed(reply)).catch(refused));
  });
  change("example-keep", (body) => {
    const { id, tenant } = checked(named, body);
    return dashboard.keepAnswer(id, tenant);
  });
  change("example-edit", (body) => dashboard.editExample(checked(edited, body)));
  change("example-remove", (body) => dashboard.removeExample(checked(example, body).id));
  change("resume", (body) => dashboard.resume(checked(resuming, body).name));
  addOperatorRoutes({ answer, change, checked, timed: (given) => timed(given, 24 * hourMs) }, dashboard);
}

/** Without a time in the query, the default period that ends now. */
function timed<T extends { from?: number | undefined; until?: number | undefined; last?: number | undefined }>(
  { last, ...given }: T,
  usualMs: number,
): Omit<T, "last"> & { from: number; until: number } {
  const until = given.until ?? Date.now() + 1;
  return { ...given, until, from: given.from ?? Math.max(0, until - (last ?? usualMs)) };
}

function send(reply: FastifyReply, value: unknown): FastifyReply {
  setHeaders(reply);
  return reply.send(value);
}

/** Throws ApiError. */
function checked<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw badRequest(issue?.message ?? "This is no valid question.", issue?.path.map(String).join("."));
}

function refused(error: unknown): never {
  if (!(error instanceof PolicyRefused)) throw error;
  throw new ApiError({ status: 409, code: "policy_refused", message: error.message });
}
