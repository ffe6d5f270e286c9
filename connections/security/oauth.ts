// Bearer tokens from a renewed file or by client credentials (RFC 6749, 4.4), cached until a fifth
// of the lifetime is left; concurrent callers share a request.
import { setTimeout as sleep } from "node:timers/promises";
import { backoff } from "../../algorithms/queueing/backoff.ts";
import { jsonOf } from "../../algorithms/text/json-shape.ts";
import { messageOf } from "../errors.ts";
import type { OAuth } from "../../config/sections/security.ts";
import { SecurityProblem } from "./errors.ts";
import { secretOf } from "./files.ts";
import { textOf } from "../http/bodies.ts";
import { httpCall } from "./http.ts";

export type TokenSource = () => Promise<string>;

/** The endpoint is away or busy: the same call may succeed later. */
class TokenUnavailable extends Error {
  override name = "TokenUnavailable";
  readonly retriable = true;
}

interface Fetched {
  token: string;
  /** performance.now() from which another one is fetched, and from which this one is of no use. */
  renewAt: number;
  endsAt: number;
}

const attempts = 4;
const callMs = 10_000;
const waitMs = { first: 100, limit: 2_000 };
/** Where the endpoint does not say how long a token lives. */
const unsaidLifeSeconds = 300;

export function createTokenSource({
  oauth,
  tokenFile,
}: {
  oauth?: OAuth | undefined;
  tokenFile?: string | undefined;
}): TokenSource {
  if (oauth === undefined) return () => Promise.resolve().then(() => secretOf(undefined, tokenFile) ?? "");
  let held: Fetched | undefined;
  let fetching: Promise<Fetched> | undefined;
  return async () => {
    if (held !== undefined && performance.now() < held.renewAt) return held.token;
    fetching ??= fetchPatiently(oauth).finally(() => (fetching = undefined));
    try {
      held = await fetching;
    } catch (error) {
      if (held === undefined || performance.now() >= held.endsAt || error instanceof SecurityProblem) throw error;
    }
    return held.token;
  };
}

async function fetchPatiently(oauth: OAuth): Promise<Fetched> {
  const waits = backoff(waitMs);
  for (let attempt = 1; ; attempt++) {
    try {
      return await fetchToken(oauth);
    } catch (error) {
      if (error instanceof SecurityProblem || attempt === attempts) throw error;
      await sleep(waits.next());
    }
  }
}

async function fetchToken({ endpoint, clientId, clientSecret, clientSecretFile, scope, ca }: OAuth): Promise<Fetched> {
  const secret = secretOf(clientSecret, clientSecretFile) ?? "";
  const asked = performance.now();
  // RFC 6749, 2.3.1: both are form-encoded before they are joined.
  const basic = Buffer.from(`${formEncoded(clientId)}:${formEncoded(secret)}`).toString("base64");
  let status: number;
  let text: string;
  try {
    const answer = await httpCall(endpoint, {
      method: "POST",
      headers: {
        authorization: `Basic ${basic}`,
        "content-type": "application/x-www-form-urlencoded",
        accept: "application/json",
      },
      body: new URLSearchParams({
        grant_type: "client_credentials",
        ...(scope === undefined ? {} : { scope }),
      }).toString(),
      tls: ca === undefined ? undefined : { ca },
      timeoutMs: callMs,
      signal: AbortSignal.timeout(callMs),
    });
    status = answer.statusCode ?? 0;
    text = await textOf(answer);
  } catch (cause) {
    if (cause instanceof SecurityProblem) throw cause;
    throw new TokenUnavailable(`the token endpoint ${endpoint} can't be reached: ${messageOf(cause)}`, { cause });
  }
  if (status >= 500 || status === 429 || status === 408)
    throw new TokenUnavailable(`the token endpoint ${endpoint} answers with status ${status}`);
  const reported = parsed(text);
  if (status !== 200)
    throw new SecurityProblem(
      `the token endpoint ${endpoint} refuses client "${clientId}": ${reported.error ?? `status ${status}`}; see that oauth.clientId, its secret and oauth.scope are right`,
    );
  if (typeof reported.access_token !== "string" || reported.access_token === "")
    throw new SecurityProblem(
      `the token endpoint ${endpoint} answers without an access_token; is it the token endpoint?`,
    );
  const lifeMs = 1_000 * (Number(reported.expires_in) > 0 ? Number(reported.expires_in) : unsaidLifeSeconds);
  return { token: reported.access_token, renewAt: asked + 0.8 * lifeMs, endsAt: asked + lifeMs };
}

const formEncoded = (text: string): string => new URLSearchParams({ text }).toString().slice("text=".length);

interface TokenAnswer {
  access_token?: unknown;
  expires_in?: unknown;
  error?: string;
}

/** Only the error's code is read, a single word; other members may hold secrets. */
function parsed(text: string): TokenAnswer {
  const { access_token, expires_in, error } = (jsonOf(text) ?? {}) as Record<string, unknown>;
  return { access_token, expires_in, ...(typeof error === "string" ? { error: error.slice(0, 100) } : {}) };
}
