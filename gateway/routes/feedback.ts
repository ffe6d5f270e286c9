// POST /v1/feedback: acknowledged when the brokers have it. With a key on any request of its
// tenant; with the token of a response on that one, as a person's, and a bounded number of times.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { LRUCache } from "lru-cache";
import { requestKey } from "../../algorithms/identity/identity.ts";
import type { Codec } from "../../connections/registry/port.ts";
import type { Topic } from "../../schemas/records.ts";
import type { Feedback } from "../../schemas/types.ts";
import type { Caller } from "../caller.ts";
import { feedbackPath } from "../addresses.ts";
import { ApiError } from "../errors.ts";
import { requestIdFor } from "../idempotency.ts";
import { feedbackByToken, feedbackOf } from "../api/feedback.ts";
import type { ConnectionLimit } from "../connection-limit.ts";
import { createLookUps } from "../lookups.ts";
import type { Send } from "../send.ts";
import { sharedFeedback, type SessionDependencies } from "../session-requests.ts";
import { headerOf } from "./answer.ts";

export interface FeedbackDependencies extends Pick<SessionDependencies, "clickhouse" | "redactSecret"> {
  callerOf: (request: FastifyRequest) => Caller;
  send: Send<Topic<"feedback">>;
  codec: Pick<Codec, "encode">;
  topic: Topic<"feedback">;
  connectionLimit: ConnectionLimit;
  clock: () => number;
}

/** Limit of one token, at each gateway. */
const mostByToken = 20;
/** Requests whose tokens are counted at a time: those used last. */
const mostCounted = 65_536;

export function addFeedback(server: FastifyInstance, dependencies: FeedbackDependencies): void {
  const { callerOf, clickhouse, redactSecret, clock } = dependencies;
  const lookUp = createLookUps();
  const given = new LRUCache<string, number>({ max: mostCounted });
  const countToken = (tenant: string, requestId: string): void => {
    const key = requestKey(tenant, requestId);
    const count = given.get(key) ?? 0;
    if (count >= mostByToken) throw tooMuch();
    given.set(key, count + 1);
  };
  server.post(feedbackPath, async (incoming, reply) => {
    const caller = callerOf(incoming);
    const { tenant, feedbackOn } = caller;
    const id = requestIdFor(tenant, headerOf(incoming, "idempotency-key"));
    const reported = feedbackOf(incoming.body, { tenant, id, now: clock() });
    const feedback = feedbackOn === undefined ? reported : feedbackByToken(reported, feedbackOn);
    if (feedbackOn !== undefined) countToken(tenant, feedbackOn);
    const { id: feedbackId, requestId, session } = feedback;
    if (session === null) {
      await publish(dependencies, [feedback]);
      return reply.code(202).send({ id: feedbackId, object: "feedback", request_id: requestId });
    }
    const shared = await sharedFeedback({ ...feedback, session }, caller, { clickhouse, lookUp, redactSecret });
    await publish(dependencies, shared);
    return reply.code(202).send({ id: feedbackId, object: "feedback", session, requests: shared.length });
  });
}

type Publishing = Pick<FeedbackDependencies, "send" | "codec" | "topic" | "connectionLimit">;

/** The brokers have all of it when it resolves. `given`: of one tenant, at least one. */
export async function publish(
  { send, codec, topic, connectionLimit }: Publishing,
  given: readonly Feedback[],
): Promise<void> {
  const giveBack = connectionLimit.take(given[0]!.tenant);
  try {
    await Promise.all(given.map((one) => send({ topic, key: one.requestId, value: codec.encode("feedback", one) })));
  } finally {
    giveBack();
  }
}

const tooMuch = (): ApiError =>
  new ApiError({
    ...{ status: 429, code: "too_much_feedback", retryAfter: 86_400 },
    message: `There were ${mostByToken} feedbacks with this token: no more are taken.`,
  });
