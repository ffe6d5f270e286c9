// One call of the schema registry: with credentials, in time and within a bound.
import http from "node:http";
import https from "node:https";
import type { OAuth, TlsFiles } from "../../config/sections/security.ts";
import { textOf } from "../http/bodies.ts";
import { secretOf } from "../security/files.ts";
import { httpCall, type HttpCall } from "../security/http.ts";
import { createTokenSource } from "../security/oauth.ts";

export interface RegistryOptions {
  url: string;
  tls?: TlsFiles | undefined;
  username?: string | undefined;
  password?: string | undefined;
  passwordFile?: string | undefined;
  oauth?: OAuth | undefined;
  tokenFile?: string | undefined;
  /** Without a byte; a whole call may take twice as long. Default 5 s. */
  timeoutMs?: number;
  retries?: number;
}

export type Method = NonNullable<HttpCall["method"]>;

/** Rejects where the registry does not answer in time, and with BodyTooLong. */
export function caller({ url, tls, timeoutMs = 5_000, ...options }: RegistryOptions) {
  const authorization = authorizer(options);
  const base = url.replace(/(?<!\/)\/+$/, "");
  const agent = new (base.startsWith("https:") ? https : http).Agent({ keepAlive: true });
  const type = "application/vnd.schemaregistry.v1+json";
  return async (method: Method, path: string, most: number, body?: object) => {
    const headers = {
      ...(await authorization()),
      accept: `${type}, application/json`,
      ...(body && { "content-type": type }),
    };
    const signal = AbortSignal.timeout(2 * timeoutMs);
    const sent = body && { body: JSON.stringify(body) };
    const answer = await httpCall(`${base}${path}`, { method, headers, tls, agent, timeoutMs, signal, ...sent });
    return { status: answer.statusCode ?? 0, text: await textOf(answer, most) };
  };
}

function authorizer(options: Omit<RegistryOptions, "url">): () => Promise<Record<string, string>> {
  const { username, password, passwordFile, oauth, tokenFile } = options;
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
