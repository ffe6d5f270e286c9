// Checks a request, cheap checks first, and settles id, time, domain, deadline and question. Needs
// nothing before it; touches no service; never alters what the client said.
import { deadlineOf, identify, sharingDomain, skewMs } from "../../algorithms/identity/identity.ts";
import { ok, refuse, type Received, type Step } from "../../runtime/step.ts";
import type { Message, Request } from "../../schemas/types.ts";
import type { Validated } from "../flow.ts";
import { boundsProblem } from "./bounds.ts";
import { parameterProblem } from "./params.ts";
import { passthroughProblem } from "./passthrough.ts";

type Needs = Received<Request>;
type Adds = Omit<Validated, keyof Needs>;

export interface ValidateDependencies {
  limits: { maxPromptBytes: number; deadlineMs: number; maxDeadlineMs?: number };
  arms: () => readonly { name: string }[];
  /** Partitions of the responses topic, as the brokers say: the range of replyPartition. */
  partitions: () => number;
}

/** Ids are remembered for as long; clocks differ. */
const longestBatchMs = 86_400_000 + skewMs;

/** What a client said, for a message to it: a part of it tells as much. */
const cut = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}...` : text);

export const lastUserTurn = (messages: readonly Message[]): string =>
  messages.findLast(({ role }) => role === "user")?.content.trim() ?? "";

/**
 * Refuses with no_tenant, no_messages, prompt_too_large, unknown_arm, invalid_params, or bounds.
 */
export function createValidate({ limits, arms, partitions }: ValidateDependencies): Step<Needs, Adds> {
  return function validate(received) {
    const { record } = received;
    if (record.tenant.trim() === "") return refuse("no_tenant", "The request names no tenant: set `tenant`.");

    const problem = boundsProblem(record);
    if (problem !== null) return problem;

    const question = lastUserTurn(record.messages);
    if (question === "")
      return refuse("no_messages", "The request holds no user message with text: put the question into `messages`.");

    const through = record.passthrough === null ? 0 : Buffer.byteLength(record.passthrough);
    const bytes = record.messages.reduce((sum, { content }) => sum + Buffer.byteLength(content), through);
    if (bytes > limits.maxPromptBytes)
      return refuse(
        "prompt_too_large",
        `The messages have ${bytes} bytes and the limit is ${limits.maxPromptBytes} (limits.maxPromptBytes): shorten them.`,
      );

    const known = arms().map(({ name }) => name);
    const unknown = record.allow.arms?.filter((arm) => !known.includes(arm)) ?? [];
    if (unknown.length > 0 || record.allow.arms?.length === 0) {
      const what =
        unknown.length > 0 ? `allow.arms names ${cut(unknown.join(", "))}, which do not exist` : "allow.arms is empty";
      return refuse("unknown_arm", `${what}; there are ${known.join(", ")}, and null allows any.`);
    }

    const unserved = passthroughProblem(record);
    if (unserved !== null) return refuse("invalid_params", `passthrough: ${unserved}.`);

    const wrong = parameterProblem(record);
    if (wrong !== null) return refuse("invalid_params", `Out of range: ${wrong}.`);
    if (record.replyPartition !== null && record.replyPartition >= partitions())
      return refuse("invalid_params", `Out of range: replyPartition: there are ${partitions()} partitions, from 0.`);

    if (record.batchUntil !== null && record.batchUntil > received.timestamp + longestBatchMs)
      return refuse("invalid_params", "Out of range: batchUntil: a batch ends within a day.");

    const request = identify(record, received.position, received.timestamp);
    return ok({
      ...received,
      request,
      domain: sharingDomain(request.tenant, request.domain),
      deadline: deadlineOf({ ...request, createdAt: received.timestamp }, limits.deadlineMs, limits.maxDeadlineMs),
      question,
      degraded: [],
    });
  };
}
