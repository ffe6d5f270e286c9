// Whom an erasure is about, and its requests: by tenant, by user (metadata.user) or by id. What
// bears one of these ids goes with them.
import { isObject } from "../../algorithms/text/json-shape.ts";
import { erasedRequest, type LetterPosition } from "../../algorithms/privacy/erasure.ts";

export interface Scope {
  /** With a user or a request: theirs; absent: any. */
  tenant?: string | undefined;
  user?: string | undefined;
  request?: string | undefined;
}

export interface RequestName {
  tenant: string;
  id: string;
}

export interface Subject {
  scope: Scope;
  /** What stands for the user where it is recorded with another name (privacy.redact). */
  pseudonym: string | null;
  /** All of a tenant, what is no request as well. */
  wholeTenant: string | null;
  /** Milliseconds since the epoch: what comes to a tenant later is not meant. */
  before: number;
  requests: Map<string, RequestName>;
  /** Where dead letters stood that the topic has: tables may withhold their bytes. */
  letters: Map<string, LetterPosition>;
  /** Examples made of their answers, whose ids stand in tables without a request. */
  examples: Set<string>;
}

export function createSubject(scope: Scope, before: number, pseudonym: string | null = null): Subject {
  const whole = scope.user === undefined && scope.request === undefined ? (scope.tenant ?? null) : null;
  return {
    ...{ scope, pseudonym, wholeTenant: whole, before },
    ...{ requests: new Map(), letters: new Map(), examples: new Set() },
  };
}

export function addRequest({ requests }: Subject, tenant: string, id: string): void {
  requests.set(erasedRequest(tenant, id), { tenant, id });
}

export function addLetter({ letters }: Subject, { topic, partition, offset }: LetterPosition): void {
  letters.set(`${topic}/${partition}/${offset}`, { topic, partition, offset });
}

/** Whether a request, or an observation, is one of them by what it says itself. */
export function isMeant(
  { scope, wholeTenant, before }: Subject,
  request: { tenant: string; id: string; metadata: Readonly<Record<string, string>>; at: number },
): boolean {
  if (scope.tenant !== undefined && request.tenant !== scope.tenant) return false;
  if (wholeTenant !== null) return request.at < before;
  if (scope.request !== undefined) return request.id === scope.request;
  return Object.hasOwn(request.metadata, "user") && request.metadata.user === scope.user;
}

export const isOfMeant = (subject: Subject, tenant: string, id: string, at: number): boolean =>
  subject.requests.has(erasedRequest(tenant, id)) || (subject.wholeTenant === tenant && at < subject.before);

/** Whether a line of an uploaded file says that it is the user's, in OpenAI's members. */
export function isUsersLine({ scope }: Subject, { tenant, text }: { tenant: string; text: string }): boolean {
  const { user } = scope;
  if (user === undefined || (scope.tenant !== undefined && scope.tenant !== tenant)) return false;
  try {
    const line: unknown = JSON.parse(text);
    const body = isObject(line) ? line["body"] : undefined;
    if (!isObject(body)) return false;
    const { metadata, user: plain } = body;
    return plain === user || (isObject(metadata) && metadata["user"] === user);
  } catch {
    // The line is cut or no JSON: any mention of the user counts.
    return text.includes(JSON.stringify(user));
  }
}

const uuids = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g;
/** Names that are no UUIDs are searched for one by one. */
const mostNeedles = 1_000;

export interface Letter {
  tenant: string;
  key: Buffer | null;
  value: Buffer | null;
}

/** Whether a dead letter is about a request of the subject, by its key or quoted in its bytes. */
export function letterMatcher({ scope, wholeTenant, requests }: Subject): (letter: Letter) => boolean {
  const names = new Set([...requests.values()].map(({ id }) => id));
  const others = wholeTenant === null ? [...names].filter((name) => name.replace(uuids, "") !== "") : [wholeTenant];
  const { user } = scope;
  const needles = [
    ...others.slice(0, mostNeedles).flatMap((name) => [avroText(name), Buffer.from(JSON.stringify(name))]),
    ...(user === undefined ? [] : [Buffer.concat([avroText("user"), avroText(user)]), jsonPair("user", user)]),
  ];
  return ({ tenant, key, value }) => {
    if (wholeTenant !== null && tenant === wholeTenant) return true;
    if (key !== null && names.has(key.toString("utf8"))) return true;
    if (value === null) return false;
    if (needles.some((needle) => value.includes(needle))) return true;
    return (value.toString("latin1").match(uuids) ?? []).some((id) => names.has(id));
  };
}

const jsonPair = (key: string, value: string): Buffer => Buffer.from(`${JSON.stringify(key)}:${JSON.stringify(value)}`);

function avroText(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length: number[] = [];
  // Zigzag of a number that is not negative, in groups of seven bits.
  for (let rest = bytes.length * 2; ; rest = Math.floor(rest / 128)) {
    length.push(rest >= 128 ? (rest % 128) + 128 : rest);
    if (rest < 128) break;
  }
  return Buffer.concat([Buffer.from(length), bytes]);
}
