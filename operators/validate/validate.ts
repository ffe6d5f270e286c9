// Checks a request, cheap checks first, and settles id, time, domain, deadline and question. Needs
// nothing before it; touches no service; never alters what the client said.
import { deadlineOf, identify, sharingDomain, skewMs } from "../../algorithms/identity/identity.ts";
import { ok, refuse, type Received, type Step, type Refuse } from "../../runtime/step.ts";
import type { Message, Request } from "../../schemas/types.ts";
import type { Validated } from "../flow.ts";
import { passthroughProblem } from "./passthrough.ts";
import { z } from "zod";
import { metadataBytes, mostMetadataBytes, nameProblem } from "../../algorithms/identity/names.ts";

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

/** developer: OpenAI's newer word for system. */
const roles: ReadonlySet<string> = new Set(["system", "developer", "user", "assistant", "tool"]);
const ourRole = (message: Message): Message =>
  (message.role as string) === "developer" ? { ...message, role: "system" } : message;

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

    const stranger = record.messages.findIndex(({ role }) => !roles.has(role));
    if (stranger >= 0)
      return refuse(
        "invalid_params",
        `Out of range: messages.${stranger}.role: ${JSON.stringify(cut(record.messages[stranger]?.role ?? ""))} is none of ${[...roles].join(", ")}.`,
      );

    const question = lastUserTurn(record.messages);
    if (question === "")
      return refuse("no_messages", "The request holds no user message with text: put the question into `messages`.");

    const through = record.passthrough === null ? 0 : Buffer.byteLength(record.passthrough);
    const bytes = record.messages.reduce((sum, { content }) => sum + Buffer.byteLength(content), through);
    if (bytes > limits.maxPromptBytes)
      return refuse(
        "prompt_too_large",
        `The prompt is too long: its messages have ${bytes} bytes and the limit is ${limits.maxPromptBytes} (limits.maxPromptBytes): shorten them.`,
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
      request: { ...request, messages: request.messages.map(ourRole) },
      domain: sharingDomain(request.tenant, request.domain),
      deadline: deadlineOf({ ...request, createdAt: received.timestamp }, limits.deadlineMs, limits.maxDeadlineMs),
      question,
      degraded: [],
    });
  };
}

/** Ids are remembered for a day, so nothing may be under way for longer. */
const MAX_DEADLINE_MS = 86_400_000;

/** Ranges, so that no arm has to guess what a strange value means. */
const parametersSchema = z.object({
  params: z.object({
    maxTokens: z.number().int().min(1).nullable(),
    temperature: z.number().min(0).max(2).nullable(),
    topP: z.number().gt(0).max(1).nullable(),
    seed: z.number().int().nullable(),
    stop: z.array(z.string().min(1).max(1_024)).max(16),
  }),
  allow: z.object({
    maxCost: z.number().min(0).nullable(),
    deadlineMs: z.number().int().min(1).max(MAX_DEADLINE_MS).nullable(),
    costWeight: z.number().min(0).nullable(),
  }),
  replyPartition: z.number().int().min(0).nullable(),
});

/** Null when all is in range; else which fields are not, with what is allowed. */
function parameterProblem(request: Request): string | null {
  const result = parametersSchema.safeParse(request);
  if (result.success) return null;
  return result.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("; ");
}

/** Documents that a request may name, messages that it may have. */
const mostDocuments = 256;
const mostMessages = 4_096;

/** name_too_long, metadata_too_large, too_many_messages, too_many_documents, or null. */
function boundsProblem({ id, tenant, domain, account, documents, messages, metadata }: Request): Refuse | null {
  if (documents.length > mostDocuments)
    return refuse(
      "too_many_documents",
      `The request names ${documents.length} documents and the limit is ${mostDocuments}.`,
    );
  const names = Object.fromEntries(documents.map((name, index) => [`documents[${index}]`, name]));
  const long = nameProblem({ id, tenant, domain, account, ...names });
  // Its response stands under the sha256 of an id that is too long.
  if (long !== null) return refuse("name_too_long", `Too long a name: ${long}`);
  if (messages.length > mostMessages)
    return refuse("too_many_messages", `The request has ${messages.length} messages and the limit is ${mostMessages}.`);
  const bytes = metadataBytes(metadata);
  return bytes > mostMetadataBytes.request
    ? refuse(
        "metadata_too_large",
        `The metadata has ${bytes} bytes and the limit is ${mostMetadataBytes.request}: keep it elsewhere and name it here.`,
      )
    : null;
}
