// The schema registry over HTTP (Confluent's API, Apicurio under /apis/ccompat/v7), with the
// library's errors as the two that matter.
import http from "node:http";
import https from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { COMPATIBILITY, SchemaRegistry, SchemaType } from "@kafkajs/confluent-schema-registry";
import { messageOf } from "../errors.ts";
import type { OAuth, TlsFiles } from "../../config/sections/security.ts";
import { secretOf, tlsOptions } from "../security/files.ts";
import { textOf } from "../http/bodies.ts";
import { httpCall } from "../security/http.ts";
import { createTokenSource } from "../security/oauth.ts";
import { CodecError, RegistryUnavailable } from "./port.ts";

export interface Registry {
  /** Schema id, registered if new. CodecError when the registry refuses it. */
  register(subject: string, schema: object): Promise<number>;
  /** Writer's schema as Avro JSON; null: none of that id. Rejects with RegistryUnavailable. */
  schema(id: number): Promise<object | null>;
}

export interface RegistryOptions {
  url: string;
  tls?: TlsFiles | undefined;
  username?: string | undefined;
  password?: string | undefined;
  passwordFile?: string | undefined;
  oauth?: OAuth | undefined;
  tokenFile?: string | undefined;
  timeoutMs?: number;
  retries?: number;
}

export function createRegistry(options: RegistryOptions): Registry {
  const { url, tls, timeoutMs = 5_000, retries = 3 } = options;
  const authorization = authorizer(options);
  const client = new SchemaRegistry({
    host: baseOf(url),
    agent: url.startsWith("https:")
      ? new https.Agent({ keepAlive: true, ...tlsOptions(tls) })
      : new http.Agent({ keepAlive: true }),
    retry: {
      retries,
      // Registering the same schema again finds it: every call may be repeated.
      enableRetry: () => true,
      validateRetry: (response) => response.status() >= 500 || response.error() !== null,
    },
    middlewares: [
      () => ({
        prepareRequest: async (next) => {
          const request = await next();
          return request.enhance({ timeout: timeoutMs, headers: await authorization() });
        },
      }),
    ],
  });

  return {
    async register(subject, schema) {
      try {
        return await registeredBackward(client, subject, schema);
      } catch (error) {
        const failure = classify(error, url);
        if (failure.kind === "unavailable") throw new RegistryUnavailable(failure.reason, { cause: error });
        throw new CodecError(`the registry refuses the schema of ${subject}: ${failure.reason}`, { cause: error });
      }
    },

    async schema(id) {
      try {
        // The library may carry its own copy of avsc: take the JSON, never its type objects.
        return JSON.parse(JSON.stringify(await client.getSchema(id))) as object;
      } catch (error) {
        const failure = classify(error, url);
        // Without a status the registry has answered, with something that is no Avro schema.
        if (failure.status === 404 || failure.status === undefined) return null;
        throw new RegistryUnavailable(failure.reason, { cause: error });
      }
    },
  };
}

/** The library sets compatibility after registering: concurrent calls retry. */
async function registeredBackward(client: SchemaRegistry, subject: string, schema: object): Promise<number> {
  for (let look = 1; ; look++) {
    try {
      const { id } = await client.register(
        { type: SchemaType.AVRO, schema: JSON.stringify(schema) },
        { subject, compatibility: COMPATIBILITY.BACKWARD },
      );
      return id;
    } catch (error) {
      const between = error instanceof Error && error.name === "ConfluentSchemaRegistryCompatibilityError";
      if (!between || look === compatibilityLooks.most) throw error;
      await sleep(compatibilityLooks.everyMs);
    }
  }
}

const compatibilityLooks = { most: 5, everyMs: 200 };

export async function subjectsOf(options: RegistryOptions): Promise<Set<string>> {
  const { url, tls, timeoutMs = 5_000 } = options;
  const headers = await authorizer(options)();
  const answer = await httpCall(`${baseOf(url)}/subjects`, { headers, tls, timeoutMs });
  const text = await textOf(answer, mostSubjectBytes);
  if (answer.statusCode !== 200) throw new Error(`it answers ${answer.statusCode}`);
  return new Set(JSON.parse(text) as string[]);
}

const mostSubjectBytes = 64 * 1_048_576;
const baseOf = (url: string): string => url.replace(/(?<!\/)\/+$/, "");

function authorizer({
  username,
  password,
  passwordFile,
  oauth,
  tokenFile,
}: RegistryOptions): () => Promise<Record<string, string>> {
  if (oauth !== undefined || tokenFile !== undefined) {
    const token = createTokenSource({ oauth, tokenFile });
    return async () => ({ authorization: `Bearer ${await token()}` });
  }
  if (username === undefined) return () => Promise.resolve({});
  return () => {
    const pair = Buffer.from(`${username}:${secretOf(password, passwordFile) ?? ""}`);
    return Promise.resolve({ authorization: `Basic ${pair.toString("base64")}` });
  };
}

interface Failure {
  kind: "unavailable" | "refused";
  status: number | undefined;
  reason: string;
}

function classify(error: unknown, url: string): Failure {
  const message = messageOf(error);
  const status =
    error instanceof Error && "status" in error && typeof error.status === "number" ? error.status : undefined;
  // A client error of the HTTP layer comes as status 400 without a registry's message.
  const unreachable = status === 400 && /Error, status 400/.test(message);
  if (unreachable || (status !== undefined && (status >= 500 || status === 429 || status === 408))) {
    return { kind: "unavailable", status, reason: `registry ${url} can't be reached: ${message}` };
  }
  if (status === 401 || status === 403) {
    return { kind: "refused", status, reason: `registry ${url} refuses our credentials (status ${status})` };
  }
  return { kind: "refused", status, reason: message };
}
