// The schema registry over HTTP (Confluent's API, Apicurio under /apis/ccompat/v7). Every call ends
// in time and within a bound; its errors are the two that matter.
import { setTimeout as sleep } from "node:timers/promises";
import avro, { type Schema, type Type } from "avsc";
import { waitAfter } from "../../algorithms/queueing/backoff.ts";
import { isObject, jsonOf, listOf } from "../../algorithms/text/json-shape.ts";
import { messageOf } from "../errors.ts";
import { BodyTooLong } from "../http/bodies.ts";
import { caller, type Method, type RegistryOptions } from "./call.ts";
import { CodecError, RegistryUnavailable } from "./port.ts";

export interface Registry {
  /** Schema id, registered if new. CodecError when the registry refuses it. */
  register(subject: string, schema: object): Promise<number>;
  /** Writer's schema as Avro JSON; null: none of that id. Rejects with RegistryUnavailable. */
  schema(id: number): Promise<object | null>;
}

interface Answer {
  status: number;
  /** undefined: no JSON object. */
  body: Record<string, unknown> | undefined;
}
type Ask = (method: Method, path: string, body?: object) => Promise<Answer>;

const mostBytes = { answer: 8 * 1_048_576, subjects: 64 * 1_048_576 };
const retryWaits = { first: 100, limit: 2_000 };
/** Schemas that one may refer to, those that these refer to included. */
const mostReferences = 100;

export function createRegistry(options: RegistryOptions): Registry {
  const { url, retries = 3 } = options;
  const call = caller(options);

  /** Registering the same schema again finds it: every call may be repeated. */
  const ask: Ask = async (method, path, body) => {
    for (let attempt = 0; ; attempt++) {
      let reason: string;
      try {
        const { status, text } = await call(method, path, mostBytes.answer, body);
        const parsed = jsonOf(text);
        if (status < 500 && status !== 429 && status !== 408)
          return { status, body: isObject(parsed) ? parsed : undefined };
        reason = isObject(parsed) && typeof parsed["message"] === "string" ? parsed["message"] : `status ${status}`;
      } catch (error) {
        // A repeated call would get as much.
        if (error instanceof BodyTooLong) return { status: 200, body: undefined };
        reason = messageOf(error);
      }
      if (attempt === retries) throw new RegistryUnavailable(`registry ${url} can't be reached: ${reason}`);
      await sleep(waitAfter(attempt, retryWaits));
    }
  };

  async function read(id: number): Promise<object | null> {
    const { status, body } = await ask("GET", `/schemas/ids/${id}`);
    if (status === 404) return null;
    if (status !== 200) throw new RegistryUnavailable(refusalOf(url, status, body));
    try {
      const type = await typeOf(ask, body, { types: {}, seen: new Set() });
      return type === null ? null : (JSON.parse(JSON.stringify(type)) as object);
    } catch (error) {
      if (error instanceof RegistryUnavailable) throw error;
      // It has answered, with something that is no Avro schema.
      return null;
    }
  }
  const reading = new Map<number, Promise<object | null>>();

  return {
    async register(subject, schema) {
      const name = encodeURIComponent(subject);
      const refused = ({ status, body }: Answer): CodecError =>
        new CodecError(`the registry refuses the schema of ${subject}: ${refusalOf(url, status, body)}`);
      const isNew = await isWithoutLevel(ask, name, refused);
      const registered = await ask("POST", `/subjects/${name}/versions`, { schema: JSON.stringify(schema) });
      const id = registered.body?.["id"];
      if (registered.status >= 300 || typeof id !== "number") throw refused(registered);
      if (!isNew) return id;
      const set = await ask("PUT", `/config/${name}`, { compatibility });
      if (set.status >= 300) throw refused(set);
      return id;
    },

    schema(id) {
      const found = reading.get(id) ?? read(id).finally(() => reading.delete(id));
      reading.set(id, found);
      return found;
    },
  };
}

const compatibility = "BACKWARD";
const compatibilityLooks = { most: 5, everyMs: 200 };

/**
 * Whether the subject has no level of its own yet; Apicurio calls that NONE once it has a schema.
 * Another process that registers it sets ours a moment later, unless it was killed before.
 */
async function isWithoutLevel(ask: Ask, name: string, refused: (answer: Answer) => CodecError): Promise<boolean> {
  for (let look = 1; ; look++) {
    const answer = await ask("GET", `/config/${name}`);
    if (answer.status === 404) return true;
    const level = answer.body?.["compatibilityLevel"];
    if (answer.status !== 200 || typeof level !== "string") throw refused(answer);
    if (level.toUpperCase() === compatibility) return false;
    const isLast = look === compatibilityLooks.most;
    if (isLast && level.toUpperCase() === "NONE") return true;
    const message = `its compatibility is ${level}, and ours is ${compatibility}: set it to ${compatibility} there`;
    if (isLast) throw refused({ status: 200, body: { message } });
    await sleep(compatibilityLooks.everyMs);
  }
}

/** The schema of an answer, after those that it refers to. null: no Avro schema. */
async function typeOf(
  ask: Ask,
  body: Answer["body"],
  known: { types: Record<string, Type>; seen: Set<string> },
): Promise<Type | null> {
  const { schema, schemaType = "AVRO", references } = body ?? {};
  if (schemaType !== "AVRO" || typeof schema !== "string") return null;
  for (const reference of listOf(references)) {
    const { subject, version } = isObject(reference) ? reference : {};
    const path = `/subjects/${encodeURIComponent(String(subject))}/versions/${String(version)}`;
    if (known.seen.has(path)) continue;
    if (known.seen.size === mostReferences) return null;
    known.seen.add(path);
    if ((await typeOf(ask, (await ask("GET", path)).body, known)) === null) return null;
  }
  return avro.Type.forSchema(JSON.parse(schema) as Schema, { registry: known.types });
}

export async function subjectsOf(options: RegistryOptions): Promise<Set<string>> {
  const { status, text } = await caller(options)("GET", "/subjects", mostBytes.subjects);
  const names = jsonOf(text);
  if (status === 200 && Array.isArray(names)) return new Set(names.map(String));
  throw new Error(refusalOf(options.url, status, isObject(names) ? names : undefined));
}

function refusalOf(url: string, status: number, body: Answer["body"]): string {
  if (status === 401 || status === 403) return `registry ${url} refuses our credentials (status ${status})`;
  const message = body?.["message"];
  const path = "see that its address includes the path of Confluent's API (Apicurio's is /apis/ccompat/v7)";
  if (typeof message !== "string") return `registry ${url} answers ${status} without a message: ${path}`;
  return status === 404 ? `${message}; ${path}` : message;
}
