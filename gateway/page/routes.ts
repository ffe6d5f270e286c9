// The page's questions and acts as JSON. The browser names what it wants by a few checked
// parameters; what becomes of them in SQL is below data/.
import { randomUUID } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { feedbackOf } from "../api/feedback.ts";
import type { Feedback } from "../../schemas/types.ts";
import { closed } from "../closed.ts";
import { ApiError, badRequest } from "../errors.ts";
import { findConversation } from "../find-conversation.ts";
import { KeyRefused } from "../keys/manage.ts";
import { createLookUps } from "../lookups.ts";
import { unknownRequest } from "../routes/requests.ts";
import { sameOrigin, type MayLook } from "./access.ts";
import { dayMs, hourMs } from "./data/answers.ts";
import { readBatches } from "./data/batches.ts";
import { PolicyRefused, type Dashboard } from "./data/dashboard.ts";
import { LetterRefused } from "./data/dead-letters.ts";
import { readExample, readExamples } from "./data/examples.ts";
import { readExperiments } from "./data/experiments.ts";
import { checked, taken, timed } from "./data/filters.ts";
import { readHealth } from "./data/health.ts";
import { readNames } from "./data/names.ts";
import { readOverview } from "./data/overview.ts";
import { readOwners } from "./data/owners.ts";
import { readPolicies, resume, revert } from "./data/policies.ts";
import { readChange, readPolicyRewards } from "./data/policy-change.ts";
import { readRequests } from "./data/requests.ts";
import { readSessions } from "./data/sessions.ts";
import type { WholeRequest } from "./data/types/asking.ts";
import { readValues } from "./data/values.ts";
import { setHeaders } from "./headers.ts";

export interface PageDependencies {
  mayLook: MayLook;
  dashboard: Dashboard;
  /** In the brokers when it resolves. */
  giveFeedback: (feedback: Feedback) => Promise<void>;
  clock: () => number;
}

/** Author of the page's feedback, by which it can be withdrawn. */
const pageAuthor = "page";

export function addPageRoutes(
  server: FastifyInstance,
  { mayLook, dashboard, giveFeedback, clock }: PageDependencies,
): void {
  const { clickhouse, policies, exampleActs, keys, letters } = dashboard;
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

  answer("requests", (query) => readRequests(clickhouse, timed(checked(taken.requests, query), hourMs)));
  answer("request", (query) => wholeRequest(dashboard, checked(taken.request, query)));
  answer("overview", (query) => readOverview(clickhouse, timed(checked(taken.overview, query), dayMs)));
  answer("owners", (query) => readOwners(clickhouse, timed(checked(taken.owners, query), dayMs)));
  answer("sessions", (query) => readSessions(clickhouse, timed(checked(taken.sessions, query), dayMs)));
  answer("batches", (query) => readBatches(clickhouse, dashboard.batches(), checked(taken.tenant, query).tenant));
  answer("policies", (query) => readPolicies(clickhouse, checked(taken.policy, query).name));
  answer("policy-change", async (query) => {
    const found = await readChange(clickhouse, checked(taken.version, query).version);
    if (found !== null) return found;
    throw new ApiError({ status: 404, code: "unknown_version", message: "No such version of the router is recorded." });
  });
  answer("policy-rewards", (query) => (checked(taken.nothing, query), readPolicyRewards(clickhouse)));
  answer("examples", (query) => readExamples(clickhouse, checked(taken.examples, query)));
  answer("example", (query) => readExample(clickhouse, checked(taken.id, query).id));
  answer("experiments", (query) => (checked(taken.nothing, query), readExperiments(clickhouse)));
  answer("values", (query) => (checked(taken.nothing, query), readValues(clickhouse)));
  answer("health", (query) => (checked(taken.nothing, query), readHealth({ ...dashboard.health, clickhouse })));
  answer("names", (query) => (checked(taken.nothing, query), readNames(clickhouse)));
  answer("keys", (query) => keys.list(checked(taken.keys, query)));
  answer("letters", (query) => letters.list(checked(taken.letters, query)));
  answer("letter", async (query) => {
    const found = await letters.read(checked(taken.letter, query));
    if (found !== null) return found;
    throw new ApiError({ status: 404, code: "unknown_letter", message: "There is no such dead letter." });
  });

  change("revert", (body) => {
    const { name, version } = checked(taken.revert, body);
    return revert(policies, name, version, clock());
  });
  change("resume", (body) => resume(policies, checked(taken.resume, body).name, clock()));
  // What POST /v1/feedback takes, and whose request it is on: an admin key is of no tenant.
  change("feedback", async (body) => {
    const { tenant, ...reported } = checked(taken.feedback, body);
    const feedback = feedbackOf({ author: pageAuthor, ...reported }, { tenant, id: randomUUID(), now: clock() });
    await giveFeedback(feedback);
    return { id: feedback.id };
  });
  // It may take as long as a model does: it holds none of the few look-ups.
  server.post("/page/api/ask-again", async (incoming, reply) => {
    mayLook(incoming);
    sameOrigin(incoming);
    const asking = checked(taken.askAgain, incoming.body);
    return send(reply, await dashboard.askAgain(asking, closed(reply)).catch(refused));
  });
  change("example-keep", (body) => {
    const { id, tenant } = checked(taken.request, body);
    return exampleActs.keep(id, tenant);
  });
  change("example-edit", (body) => exampleActs.edit(checked(taken.edit, body)));
  change("example-remove", (body) => exampleActs.remove(checked(taken.id, body).id));
  change("key-create", (body) => keys.create(present(checked(taken.keyCreate, body))));
  change("key-limit", (body) => {
    const { id, ...limited } = checked(taken.keyLimit, body);
    return keys.limit(id, present(limited));
  });
  change("key-revoke", (body) => keys.revoke(checked(taken.id, body).id));
  change("letter-retry", (body) => letters.retry(checked(taken.letter, body)));
}

async function wholeRequest(
  { clickhouse, prices, armsFor }: Dashboard,
  { id, tenant }: { id: string; tenant: string },
): Promise<WholeRequest> {
  const found = await findConversation(clickhouse, id, tenant, { seesShared: true });
  if (found === null) throw unknownRequest();
  const { request, response } = found;
  const { arm = null, promptTokens = 0 } = response ?? {};
  const price = arm === null ? null : prices(arm, request.createdAt, promptTokens);
  return { ...found, askable: armsFor(request), prices: price };
}

type Present<T> = { [K in keyof T]: Exclude<T[K], undefined> };
/** Without members that are undefined. */
const present = <T extends object>(value: T): Present<T> =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as Present<T>;

function send(reply: FastifyReply, value: unknown): FastifyReply {
  setHeaders(reply);
  return reply.send(value);
}

function refused(error: unknown): never {
  const conflict = (code: string, message: string): ApiError => new ApiError({ status: 409, code, message });
  if (error instanceof PolicyRefused) throw conflict("policy_refused", error.message);
  if (error instanceof LetterRefused) throw conflict("letter_refused", error.message);
  if (!(error instanceof KeyRefused)) throw error;
  // Messages name options of the command, which are fields here.
  const message = error.message.replace(/^--/, "");
  throw error.isWrong ? badRequest(message) : conflict("key_refused", message);
}
